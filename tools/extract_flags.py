"""Add a vLLM release to `compat_matrix/flags.json`, reading its source without running it.

    pip download vllm==0.34.0 --no-deps
    python tools/extract_flags.py vllm-0.34.0-….whl            # prints what changed
    python tools/extract_flags.py vllm-0.34.0-….whl --write    # and extends the ranges

The source is a wheel file or the folder it was unpacked into.  Nothing of it is imported.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from extractor.options import read_options
from extractor.ranges import changes, extended, neighbour, options_of, write
from extractor.source import ExtractError, SourceTree

TABLE = Path(__file__).resolve().parent.parent / "compat_matrix" / "flags.json"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Add a vLLM release to compat_matrix/flags.json.")
    parser.add_argument(
        "source", type=Path, help="a vLLM wheel, or the folder it was unpacked into"
    )
    parser.add_argument("--release", help="release name; default: what the package says")
    parser.add_argument("--write", action="store_true", help="extend the table")
    parser.add_argument("--table", type=Path, default=TABLE, help="flags.json")
    options = parser.parse_args(arguments)
    table = json.loads(options.table.read_bytes())
    try:
        tree = SourceTree(options.source)
        release = options.release or tree.release()
        if release is None:
            raise ExtractError(f"{options.source}: no release found in it; give --release")
        read = read_options(tree)
    except ExtractError as error:
        print(error, file=sys.stderr)
        return 3
    compared = neighbour(table, release)
    lines = list(changes(options_of(table, compared), read))
    print(f"vLLM {release}: {len(read)} options, {len(lines)} changes against {compared}")
    print("\n".join(lines))
    if options.write:
        write(extended(table, release, read), options.table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
