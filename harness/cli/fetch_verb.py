"""``harness fetch``: models, vectors, corpora and lexica into the cache."""

from __future__ import annotations

import argparse
import json


def main(argv: list[str]) -> int:
    """Download an asset and check its digest, or list what can be fetched."""
    parser = argparse.ArgumentParser(
        prog="harness fetch", description="Download an asset into the cache (HARNESS_CACHE) and check its digest."
    )
    parser.add_argument("name", nargs="?", help="an asset; without a name, all are listed")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args(argv)
    from harness import assets
    from harness.cli.ls_verb import print_listing
    from harness.sizes import size_text

    if arguments.name is None:
        found = assets.catalogue()
        if arguments.json:
            print(json.dumps(found, indent=1))
        else:
            sizes = [size_text(float(row["bytes"])) if row["bytes"] else "" for row in found]
            print_listing(
                {
                    "name": row["name"],
                    "size": "here" if row["fetched"] else size,
                    "description": row["description"],
                }
                for row, size in zip(found, sizes, strict=True)
            )
        return 0
    from harness.progress import bar

    print(assets.fetch(arguments.name, progress=bar))
    return 0
