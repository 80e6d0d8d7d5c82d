"""Make `compat_matrix/flags.json` from a table of flags that was read from vLLM's wheels.

    python tools/import_flags.py TABLE.json [--output compat_matrix/flags.json]

The table has `meta.versions` (release names in order) and `flags`: option string → ranges, each
`from` / `to` (inclusive) and the attributes that hold in between.  The annotation of the config
field is reduced to the one thing a reader needs of it: whether the text `None` means no value.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

SOURCE = (
    "vllm/engine/arg_utils.py, vllm/entrypoints/openai/cli_args.py and vllm/config of the wheels "
    "published on PyPI, read statically"
)
KEPT = (
    "from",
    "to",
    "type",
    "choices",
    "suggested",
    "default",
    "nargs",
    "const",
    "aliases",
    "action",
    "deprecated",
    "group",
    "field",
)


def flag_range(entry: dict[str, Any]) -> dict[str, Any]:
    """One range with the attributes that are kept."""
    kept = {key: entry[key] for key in KEPT if key in entry}
    members = [part.strip() for part in str(entry.get("annotation", "")).split("|")]
    if "None" in members:
        kept["optional"] = True
    return kept


def flags_table(table: dict[str, Any]) -> dict[str, Any]:
    """The content of `flags.json`: `versions`, `source` and `flags`, sorted by name."""
    versions = table["meta"]["versions"] if "meta" in table else table["versions"]
    flags = table["flags"]
    return {
        "versions": versions,
        "source": SOURCE,
        "flags": {name: [flag_range(entry) for entry in flags[name]] for name in sorted(flags)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make compat_matrix/flags.json.")
    parser.add_argument("table", type=Path, help="flags by version range, as JSON")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).resolve().parent.parent / "compat_matrix" / "flags.json",
    )
    options = parser.parse_args()
    content = flags_table(json.loads(options.table.read_bytes()))
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
