"""``harness completion``: a small script of our own, because Hydra's does not know about verbs."""

from __future__ import annotations

import argparse

_BASH = """_harness() {
  local IFS=$'\\n'
  COMPREPLY=($(harness completion --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}
complete -F _harness harness
"""
_ZSH = """#compdef harness
_harness() {
  local -a found
  found=("${(@f)$(harness completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -S '' -- $found
}
compdef _harness harness
"""


def main(argv: list[str]) -> int:
    """Print the script for a shell, or the completions of a line."""
    if argv[:1] == ["--words"]:
        print("\n".join(complete(argv[1:])))
        return 0
    parser = argparse.ArgumentParser(
        prog="harness completion",
        description='Shell completion: add `eval "$(harness completion bash)"` to ~/.bashrc (or zsh to ~/.zshrc).',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    print(_BASH if parser.parse_args(argv).shell == "bash" else _ZSH, end="")
    return 0


def complete(words: list[str]) -> list[str]:
    """Return what the last word of a command line may become."""
    from harness.cell import CHOICES
    from harness.cli import VERBS
    from harness.cli.catalogue import KINDS
    from harness.paths import config_files
    from harness.stimuli import test_names

    *before, last = words or [""]
    if not before:
        return [verb for verb in VERBS if verb.startswith(last)]
    if before[0] == "ls":
        return [kind for kind in KINDS if kind.startswith(last)]
    if before[0] == "show" and len(before) == 1:
        return [kind for kind in ("test", "model", "method", "experiment", "stats") if kind.startswith(last)]
    groups = ("model", "method", "context", "association", "stats", "lexicon", "tracking", "experiment")
    if before[0] == "show" and len(before) == 2:
        options = test_names() if before[1] == "test" else list(config_files(before[1]))
        return [name for name in options if name.startswith(last)]
    if before[0] != "run":
        return []
    key, equals, value = last.partition("=")
    if not equals:
        keys = [*groups, "test", "target", *CHOICES, "seed", "overwrite", "figures", "paths.runs", "paths.stimuli"]
        return [f"{name}=" for name in keys if name.startswith(key)]
    options = (
        test_names() if key == "test" else list(config_files(key)) if key in groups else list(CHOICES.get(key, ()))
    )
    *first, start = value.split(",")
    return [f"{key}={','.join([*first, name])}" for name in options if name.startswith(start)]
