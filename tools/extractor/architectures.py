"""The model architectures that a release registers, and the table of the registry that each is in."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from extractor.ranges import Options, Ranges, extended, with_release
from extractor.source import ExtractError, SourceTree

REGISTRY = "vllm.model_executor.models.registry"
TABLE = re.compile(r"_(\w+)_MODELS")


def read_architectures(tree: SourceTree) -> Options:
    """Architecture → the table that names it: of several, the last one, as for who looks them up."""
    module = tree.module(REGISTRY)
    if module is None:
        raise ExtractError(f"{REGISTRY}: no such module")
    found: Options = {}
    for statement in module.body:
        name, table = _assigned(statement)
        kind = TABLE.fullmatch(name)
        if kind and isinstance(table, ast.Dict):
            for key, place in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(place, ast.Tuple):
                    found[str(key.value)] = {"kind": kind[1].lower()}
    return found


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The name and the value of an assignment; of another statement, nothing."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return "", None


def as_ranges(architectures: dict[str, Any]) -> Ranges:
    """The entries of architectures.json as the other tables have them."""
    return {
        name: [
            {"from": first, "to": last, "kind": entry["kind"]} for first, last in entry["versions"]
        ]
        for name, entry in architectures.items()
    }


def with_architectures(
    document: dict[str, Any], versions: list[str], release: str, found: Options
) -> dict[str, Any]:
    """architectures.json with one release added or replaced; an entry has the kind of the last."""
    grown = extended(as_ranges(document["architectures"]), versions, release, found)
    after = with_release(versions, release)
    entries = {
        name: {"kind": ranges[-1]["kind"], "versions": _joined(ranges, after)}
        for name, ranges in grown.items()
    }
    return document | {"architectures": entries}


def _joined(ranges: list[dict[str, Any]], versions: list[str]) -> list[list[str]]:
    """Ranges that follow each other without a gap are one."""
    joined: list[list[str]] = []
    for one in ranges:
        if joined and versions.index(joined[-1][1]) + 1 == versions.index(one["from"]):
            joined[-1][1] = one["to"]
        else:
            joined.append([one["from"], one["to"]])
    return joined


def write_architectures(document: dict[str, Any], path: Path) -> None:
    """Write the table as it is stored: an architecture a line."""

    def text(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    entries = [f"{text(name)}:{text(entry)}" for name, entry in document["architectures"].items()]
    path.write_text(
        f'{{"meta":{text(document["meta"])},\n"architectures":{{\n'
        + ",\n".join(entries)
        + "\n}}\n",
        encoding="utf-8",
    )
