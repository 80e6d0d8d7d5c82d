"""Make `compat_matrix/config_fields.json` from a table of config fields read from vLLM's wheels.

    python tools/import_config_fields.py TABLE.json

The table has `classes`: class → field → ranges with `from`, `to`, `annotation` and `default`.
Kept are the classes that JSON options take, and those that their fields name.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from extractor.config_fields import is_written, json_classes, names_in
from extractor.ranges import write

MATRIX = Path(__file__).resolve().parent.parent / "compat_matrix"
SOURCE = "vllm/config of the wheels published on PyPI, read statically"
CLOSED_FROM = "0.16.0"
CLOSED_SOURCE = (
    "vllm/config/utils.py, config: the decorator of every config class forbids extra keys"
)


def plain_annotation(text: str) -> str:
    """The annotation without loaders, type arguments of a Counter, and repeated words."""
    text = re.sub(r"LazyLoader\(.*\)\.", "", text).replace("Counter[str]", "Counter")
    return re.sub(r"Literal\[(.*?)\]", lambda match: f"Literal[{_distinct(match[1])}]", text)


def _distinct(words: str) -> str:
    return ", ".join(dict.fromkeys(words.split(", ")))


def config_fields_table(classes: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """The content of `config_fields.json`."""
    kept: dict[str, Any] = {}
    types = {name: [entry["type"] for entry in ranges] for name, ranges in flags.items()}
    waiting = sorted(json_classes(types, classes))
    while waiting:
        name = waiting.pop()
        if name in kept or name not in classes:
            continue
        kept[name] = {
            field: [
                entry | {"annotation": plain_annotation(entry["annotation"])} for entry in ranges
            ]
            for field, ranges in sorted(classes[name].items())
            if all(is_written(entry["annotation"]) for entry in ranges)
        }
        for ranges in kept[name].values():
            waiting += [new for entry in ranges for new in names_in(entry["annotation"])]
    return {
        "source": SOURCE,
        "closed_from": CLOSED_FROM,
        "closed_source": CLOSED_SOURCE,
        "classes": dict(sorted(kept.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make compat_matrix/config_fields.json.")
    parser.add_argument("table", type=Path, help="config fields by version range, as JSON")
    options = parser.parse_args()
    flags = json.loads((MATRIX / "flags.json").read_bytes())
    classes = json.loads(options.table.read_bytes())["classes"]
    table = config_fields_table(classes, flags["flags"])
    write(table, MATRIX / "config_fields.json")


if __name__ == "__main__":
    main()
