"""``harness run``: Hydra's overrides and flags, with help, errors and exit codes of our own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import walk_tb
from typing import Any

from harness.cli.fold import folded
from harness.errors import HarnessError, did_you_mean
from harness.foreign import refuse_foreign_code
from harness.paths import conf_dir, user_conf_dir

HELP = """usage: harness run [-m] [KEY=VALUE ...] [--cfg job] [--hydra-help]

Measure one cell, or with -m every combination of the values given.

choose (each is a Hydra group or key; `harness ls` lists the values):
  model=NAME           googlenews (default), glove-6b-100d, vectors model.path=FILE, ...
  test=NAME            c1 (default) ... or test=file test.path=FILE.yaml for your own words
  method=NAME          weat (default), mleat, seat, ceat, mlceat, lpbs, wefat, valnorm, sc-weat, ibd, eibd
  association=NAME     cosine (default), projection, omrani2023, probability (lpbs)
  target=VARIANT       a variant of the test: names, terms, word2vec, ... (default: its base lists)
  stats=PRESET         default, or what a paper's code did: caliskan2017, may2019, wolfe2024, wefe, ...
  stats.KEY=VALUE      one convention: ddof, alternative, null, ties, plus_one, resamples, exact_limit
  missing=POLICY       stimuli that the model lacks: drop (default), drop_balanced, error
  unequal=POLICY       targets of unequal size: error (default), keep, downsample
  lexicon=NAME         ratings for valnorm: vader (default), file
  published=TABLE      a printed table to set beside the sweep's, such as caliskan2017.tableS1
  seed=N               of every draw
  experiment=NAME      a ready-made sweep

choose for contextual models:
  context=NAME         bare (default), prompt, templates, corpus context.corpus=NAME, pairs, intersectional, ...
  encoding=NAME        the vector that is read: word (default), sentence
  pooling=NAME         of a word's subwords: mean (default), first, last
  layer=N              last (default), a number from 0 (the embeddings), or all
  unit=NAME            what the p-value exchanges: item (every text; default) or stimulus (every word)

how to run:
  -m, --multirun       sweep: KEY=a,b  KEY=range(1,5)  'KEY=glob(c*)'
  hydra/launcher=joblib hydra.launcher.n_jobs=2      in parallel
  overwrite=missing    a cell measured before is not measured again (default); always; never
  figures=auto         draw figures for single runs and small sweeps (default); always; never
  tag=NAME             your own name for these cells: `harness compare --tag NAME` takes all that were asked under it
  tracking=none        write result files only (default: MLflow under the folder of runs)
  paths.runs=DIR       where everything goes (or HARNESS_RUNS; default: runs)
  paths.stimuli=DIR    your own concepts/, tests/, templates/ (or HARNESS_STIMULI)
  paths.images=DIR     where the folders of image concepts are (or HARNESS_IMAGES)
  HARNESS_CONF=DIR     your own model/, test/, experiment/ files
  --plan FILE          a sweep's frozen plan: the first time written, with a hash, and nothing measured; from then on
                       the sweep is measured and says what was planned, what added, what left out
  --cfg job            print the composed config and stop

examples:
  harness run test=c6 model=glove-6b-100d
  harness run -m 'test=glob(c*)' stats.ddof=0,1 stats.null=exact,normal
  harness run experiment=demo

exit codes: 0 all measured; 1 some cells failed (the others are recorded); 2 a mistake in what was asked."""


def main(argv: list[str]) -> int:
    """Compose and run; returns the exit code."""
    if any(argument in {"-h", "--help"} for argument in argv):
        print(folded(HELP))
        return 0
    argv = ["--help" if argument == "--hydra-help" else argument for argument in argv]
    # Hydra takes flags before overrides only; people write them anywhere.
    argv.sort(key=lambda argument: argument not in {"-m", "--multirun"})
    argv = _with_plan(argv)
    from harness.cli.sweep_report import SweepFailedError
    from harness.config_store import register

    register(_value(argv, "paths.stimuli"))
    try:
        run_hydra(task, argv, config_name="config")
    except SweepFailedError:
        return 1
    if _mistakes:
        raise _mistakes.pop()
    return 0


def run_hydra(task: Callable[[Any], Any], argv: list[str], *, config_name: str) -> None:
    """Compose a config and call a task with it, once or as a multirun; a user's mistake becomes one sentence."""
    for folder in _foreign_folders(argv):
        refuse_foreign_code(folder)
    # Without it Hydra prints an error itself and exits with 1, whoever made the mistake.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    import hydra

    from harness.cli.sweep_report import SweepFailedError

    application = hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=config_name)(task)
    before = sys.argv
    sys.argv = ["harness", *argv]
    try:
        application()
    except (HarnessError, SweepFailedError):
        raise
    except Exception as error:
        raise sentence(error) from error
    finally:
        sys.argv = before


_mistakes: list[HarnessError] = []
"""A single cell's mistake, kept until Hydra has returned: what a task raises, Hydra announces in a line of its own."""


def task(config: Any) -> Any:
    """Run what Hydra composed: a plan of a sweep, or a single cell. Importable, so that any launcher can call it."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    from harness.cli.single import run_single
    from harness.sweep import run_plan

    if config.plan:
        return run_plan(Path(config.plan))
    resolved: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
    try:
        if HydraConfig.get().sweeper.get("plan"):
            raise HarnessError("--plan freezes the cells of a sweep, and this is a single cell: add -m.")
        return run_single(resolved)
    except HarnessError as error:
        _mistakes.append(error)
        return None


def _with_plan(argv: list[str]) -> list[str]:
    """Turn ``--plan FILE`` into the sweeper's own key."""
    kept: list[str] = []
    rest = iter(argv)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag != "--plan":
            kept.append(argument)
            continue
        path = value if equals else next(rest, "")
        if not path:
            raise HarnessError("--plan needs a file: --plan FILE.json.")
        from hydra.core.override_parser.types import Quote, QuotedString

        plan = QuotedString(text=str(Path(path).expanduser().resolve()), quote=Quote.single)
        kept.append(f"hydra.sweeper.plan={plan.with_quotes()}")
    return kept


def _value(argv: list[str], key: str) -> str | None:
    for argument in reversed(argv):
        if argument.startswith(f"{key}="):
            return argument.partition("=")[2].strip("'\"")
    return None


def _foreign_folders(argv: list[str]) -> list[Path]:
    """Return every folder of configs from outside that this command line would bring in."""
    folders = [user_conf_dir()] if user_conf_dir() else []
    for at, argument in enumerate(argv):
        flag, _, value = argument.partition("=")
        if flag in {"--config-dir", "-cd", "--config-path", "-cp"}:
            folders.append(Path(value or (argv[at + 1] if at + 1 < len(argv) else "")).resolve())
        if "hydra.searchpath" in flag:
            raise HarnessError("hydra.searchpath is not taken from the command line: set HARNESS_CONF=DIR instead.")
    return [folder for folder in folders if folder is not None]


_LAUNCHERS = {"submitit_local": "slurm", "submitit_slurm": "slurm", "ray": "ray", "ray_aws": "ray"}
"""Hydra's launchers that come with an extra, by the name of the extra."""


def sentence(error: Exception) -> Exception:
    """Turn what Hydra raises for a user's mistake into one sentence; a defect stays as it is."""
    from hydra.errors import HydraException, MissingConfigException, OverrideParseException
    from omegaconf.errors import OmegaConfBaseException

    seen: list[BaseException] = [error]
    while seen[-1].__cause__ is not None:
        seen.append(seen[-1].__cause__)
    for one in seen:
        if isinstance(one, HarnessError):
            return one
        if isinstance(one, MissingConfigException) and one.missing_cfg_file:
            group, _, name = str(one.missing_cfg_file).rpartition("/")
            options = list(one.options or [])
            if group == "hydra/launcher" and name in _LAUNCHERS:
                return HarnessError(
                    f"The launcher {name} is not installed: pip install 'eat-harness[{_LAUNCHERS[name]}]'."
                )
            plural = {
                "model": "models",
                "test": "tests",
                "method": "methods",
                "experiment": "experiments",
                "stats": "stats",
            }
            all_of = f" There are {', '.join(options)}."
            if group in plural:
                all_of = f" `harness ls {plural[group]}` shows all."
            return HarnessError(f"There is no {group or 'config'} named {name!r}.{did_you_mean(name, options)}{all_of}")
    omega = next((one for one in seen if isinstance(one, OmegaConfBaseException)), None)
    if omega is not None:
        key = str(getattr(omega, "full_key", "") or "")
        unknown = "not in" in str(omega) or "does not exist" in str(omega)
        if unknown and key:
            return HarnessError(f"There is no key {key!r} in the config.{did_you_mean(key, _all_keys())}")
        first = str(omega).splitlines()[0]
        if "key type 'NoneType'" in first:
            first = 'YAML reads the key null as nothing: write it in quotes, as in "null": exact.'
        return HarnessError(f"{key or 'config'}: {first}")
    if isinstance(error, OverrideParseException):
        return HarnessError(
            f"{error.override}: is not a KEY=VALUE that can be read; a value with quotes, commas, brackets or colons "
            "stands in quotes of its own, as in 'model.path=\"a, b.txt\"'."
        )
    if isinstance(error, ValueError) and str(error).startswith("Config group override must be a string"):
        return HarnessError("A group such as model, test, method or stats takes a name, not null or a number.")
    if isinstance(error, RecursionError) and any(
        Path(frame.f_code.co_filename).name == "defaults_list.py" for frame, _ in walk_tb(error.__traceback__)
    ):
        return HarnessError("The defaults of a config lead back to that config; take it out of its own `defaults`.")
    if isinstance(error, HydraException):
        lines = [line for line in str(error).splitlines() if line.strip()]
        if lines[0].startswith("Ambiguous value"):
            argument = lines[0].partition("'")[2].rpartition("'")[0]
            return HarnessError(f"{argument} gives several values: add -m to sweep over them.")
        return HarnessError(" ".join(lines[:2]) + " (`harness run --help` shows how a sweep is written)")
    return error


def _all_keys() -> list[str]:
    from omegaconf import OmegaConf

    from harness.config import Config

    found: list[str] = []
    whole: dict[str, Any] = OmegaConf.to_container(OmegaConf.structured(Config), resolve=False)  # type: ignore[assignment]
    for key, value in whole.items():
        found.append(key)
        if isinstance(value, dict):
            found += [f"{key}.{inner}" for inner in value]
    return found
