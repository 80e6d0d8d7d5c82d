"""Add a vLLM release to compat_matrix/, reading its source without running it.

    pip download vllm==0.34.0 --no-deps
    python tools/extract_flags.py vllm-0.34.0-….whl            # prints what changed
    python tools/extract_flags.py vllm-0.34.0-….whl --write    # and extends the ranges

The source is a wheel file or the folder it was unpacked into.  Nothing of it is imported.
`flags.json` gets the options of `vllm serve`, `config_fields.json` the keys of its JSON options,
`architectures.json` the model architectures that it registers.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from extractor.architectures import (
    as_ranges,
    read_architectures,
    with_architectures,
    write_architectures,
)
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
    models = json.loads((options.matrix / "architectures.json").read_bytes())
    try:
        tree = SourceTree(options.source)
        release = options.release or tree.release()
        if release is None:
            raise ExtractError(f"{options.source}: no release found in it; give --release")
        found = read_options(tree)
        keys = by_dotted_name(read_config_fields(tree, found))
        registered = read_architectures(tree)
    except ExtractError as error:
        print(error, file=sys.stderr)
        return 3
    versions = flags["versions"]
    named_fields = by_dotted_name(fields["classes"])
    compared = neighbour(versions, release)
    for what, ranges, new in (
        ("options", flags["flags"], found),
        ("keys of JSON options", named_fields, keys),
        ("architectures", as_ranges(models["architectures"]), registered),
    ):
        lines = list(changes(of_release(ranges, versions, compared), new))
        print(f"vLLM {release}: {len(new)} {what}, {len(lines)} changes against {compared}")
        print("".join(f"{line}\n" for line in lines), end="")
    if options.write:
        grown = extended(flags["flags"], versions, release, found)
        releases = {"versions": with_release(versions, release)}
        write(flags | releases | {"flags": grown}, options.matrix / "flags.json")
        classes = by_class(extended(named_fields, versions, release, keys))
        write(fields | {"classes": classes}, options.matrix / "config_fields.json")
        added = with_architectures(models, versions, release, registered)
        write_architectures(added, options.matrix / "architectures.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
