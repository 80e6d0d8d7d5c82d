"""Add a vLLM release to compat_matrix/, reading its source without running it.

    pip download vllm==0.34.0 --no-deps
    python tools/extract_flags.py vllm-0.34.0-….whl            # prints what changed
    python tools/extract_flags.py vllm-0.34.0-….whl --write    # and extends the ranges

The source is a wheel file or the folder it was unpacked into.  Nothing of it is imported.
`flags.json` gets the options of `vllm serve`, `config_fields.json` the keys of its JSON options.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from extractor.config_fields import by_class, by_dotted_name, read_config_fields
from extractor.options import read_options
from extractor.ranges import changes, extended, neighbour, of_release, with_release, write
from extractor.source import ExtractError, SourceTree

MATRIX = Path(__file__).resolve().parent.parent / "compat_matrix"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Add a vLLM release to compat_matrix/.")
    parser.add_argument(
        "source", type=Path, help="a vLLM wheel, or the folder it was unpacked into"
    )
    parser.add_argument("--release", help="release name; default: what the package says")
    parser.add_argument("--write", action="store_true", help="extend the tables")
    parser.add_argument("--matrix", type=Path, default=MATRIX, help="the folder of the tables")
    options = parser.parse_args(arguments)
    flags = json.loads((options.matrix / "flags.json").read_bytes())
    fields = json.loads((options.matrix / "config_fields.json").read_bytes())
    try:
        tree = SourceTree(options.source)
        release = options.release or tree.release()
        if release is None:
            raise ExtractError(f"{options.source}: no release found in it; give --release")
        found = read_options(tree)
        read = (found, by_dotted_name(read_config_fields(tree, found)))
    except ExtractError as error:
        print(error, file=sys.stderr)
        return 3
    versions = flags["versions"]
    stored = (flags["flags"], by_dotted_name(fields["classes"]))
    compared = neighbour(versions, release)
    for what, ranges, new in zip(("options", "keys of JSON options"), stored, read, strict=True):
        lines = list(changes(of_release(ranges, versions, compared), new))
        print(f"vLLM {release}: {len(new)} {what}, {len(lines)} changes against {compared}")
        print("".join(f"{line}\n" for line in lines), end="")
    if options.write:
        grown = [
            extended(ranges, versions, release, new)
            for ranges, new in zip(stored, read, strict=True)
        ]
        releases = {"versions": with_release(versions, release)}
        write(flags | releases | {"flags": grown[0]}, options.matrix / "flags.json")
        classes = {"classes": by_class(grown[1])}
        write(fields | classes, options.matrix / "config_fields.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
