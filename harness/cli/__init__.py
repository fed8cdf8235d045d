"""The command line: one file a verb. Nothing is imported before its verb is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys

from harness.errors import HarnessError, did_you_mean

VERBS = {
    "run": "measure a cell, or a sweep of cells (-m)",
    "ls": "list models, tests, methods, experiments or stats presets",
    "show": "show one of them in full: a test's words, a model's source, a preset's options",
    "validate": "check stimulus files: duplicates, unequal sets, missing provenance",
    "import": "turn a sent-bias .jsonl test or a wefe query into a test file",
    "compare": "set recorded cells beside each other: by any factor, or two models paired",
    "replicate": "run what a published table needs, and set ours beside it",
    "audit": "how robust a sweep's results are: specification curve, sensitivity, calibration, report",
    "export": "write recorded cells as csv, parquet, json, markdown or latex",
    "plot": "draw the figures of a recorded cell or sweep",
    "rank": "rank a whole vocabulary, or a file of words, for an intersectional group",
    "sync": "bring result files into MLflow, and close runs that a killed process left open",
    "ui": "open the MLflow UI on the recorded runs",
    "store": "list, measure, verify or prune the stored vectors of contextual models",
    "corpus": "build, merge, list or report samples of natural contexts from dumps and text files",
    "fetch": "download a model, vectors, a corpus or a lexicon into the cache",
    "completion": "print the shell completion script",
}

_OF_THE_DISK = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG,
    errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EEXIST, errno.ELOOP,
}  # fmt: skip
"""A folder that cannot be written, a full disk, a path through a file: nothing that a traceback would tell better."""

HELP = """usage: harness VERB [...]

Measure associations in embeddings, and see how much each design choice moves the result.

verbs:
{verbs}

first steps:
  harness run                                     one WEAT on the embedded Google News vectors
  harness run experiment=demo                     ten WEATs on two models, beside the published values
  harness run -m model=googlenews,glove-6b-100d 'test=glob(c*)' stats=default,wefe
  harness run test=file test.path=mywords.yaml    your own words
  harness compare --sweep last --rows test --columns model
  harness audit last                              what each choice was worth, as one page
  harness replicate caliskan2017.tableS1          ours beside the published table

`harness VERB --help` tells more about each."""


def main(argv: list[str] | None = None) -> int:
    """Run a verb; a user's mistake is one line on stderr and exit code 2."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return _dispatch(arguments)
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "harness: interrupted; what was measured is kept, and the same command goes on from there.", file=sys.stderr
        )
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        print(f"harness: {error.filename or 'The disk'}: {error.strerror}.", file=sys.stderr)
        return 2


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        from harness.cli.fold import folded

        verbs = "\n".join(f"  {verb:<11}  {text}" for verb, text in VERBS.items())
        print(folded(HELP.replace("{verbs}", verbs)), flush=True)
        return 0
    if arguments[0] in {"-V", "--version"}:
        from importlib import metadata

        print(f"eat-harness {metadata.version('eat-harness')}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        raise HarnessError(f"There is no verb {verb!r}.{did_you_mean(verb, VERBS)} `harness --help` lists them.")
    status: int = importlib.import_module(f"harness.cli.{verb}_verb").main(rest)
    return status
