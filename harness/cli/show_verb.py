"""``harness show``: one test, model, method, experiment or stats preset in full."""

from __future__ import annotations

import argparse
import json
from typing import Any

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

        filled = _filled(plain)
        # YAML's own choice writes a mapping without lists or mappings in it as one paragraph.
        flow = None if any(isinstance(value, dict | list) for value in filled.values()) else False
        print(yaml.safe_dump(filled, allow_unicode=True, sort_keys=False, width=110, default_flow_style=flow), end="")
    return 0


def _filled(found: dict[str, Any]) -> dict[str, Any]:
    """Return what says something: fields that are empty are left out for a reader."""
    kept = {name: _filled(value) if isinstance(value, dict) else value for name, value in found.items()}
    return {name: value for name, value in kept.items() if value not in ("", [], {})}
