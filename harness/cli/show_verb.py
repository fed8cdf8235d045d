"""``harness show``: one test, model, method, experiment or stats preset in full."""

from __future__ import annotations

import argparse
import json

from harness.cli.catalogue import details, kind_named


def main(argv: list[str]) -> int:
    """Show one thing in full."""
    parser = argparse.ArgumentParser(
        prog="harness show", description="Show a test's words, a model's source, a preset's options."
    )
    parser.add_argument("kind", help="test, model, method, experiment or stats")
    parser.add_argument("name")
    parser.add_argument("--target", help="a variant of the test, such as names or terms")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args(argv)
    found = details(kind_named(arguments.kind), arguments.name, target=arguments.target)
    plain = json.loads(json.dumps(found, ensure_ascii=False))
    if arguments.json:
        print(json.dumps(plain, ensure_ascii=False, indent=1))
    else:
        import yaml

        print(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=110, default_flow_style=None), end="")
    return 0
