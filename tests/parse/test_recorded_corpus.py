"""Recorded public configurations parse to their expected parses."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_file, to_json
from scheduler_reader.parse.detect import all_forms

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SCHED_READER_SHARED") or ROOT.parent / "shared")


def entries() -> list[Any]:
    index = SHARED / "corpus" / "INDEX.yaml"
    if not index.is_file():
        return []
    forms = {form.FORM for form in all_forms()}
    rows = yaml.safe_load(index.read_text())
    return [pytest.param(row, id=row["file"]) for row in rows if row["form"] in forms]


@pytest.mark.parametrize("entry", entries())
def test_recorded_file(entry: dict[str, Any], shared: Path) -> None:
    sys.path.insert(0, str(shared / "accept"))
    try:
        from accept import engine_diff
    finally:
        sys.path.pop(0)
    want = json.loads((shared / "corpus" / entry["expected"]).read_text())
    is_core = entry["level"] == "core"
    try:
        (got,) = to_json([parse_file(str(shared / "corpus" / entry["file"]))])["files"]
    except InputError:
        assert not is_core
        return
    if not is_core and not got["engines"]:
        assert got["problems"]
        return
    if not is_core and len(got["engines"]) != len(want):
        return
    assert len(got["engines"]) == len(want)
    left = list(got["engines"])
    for expected in want:
        differences = [engine_diff(expected, engine, is_core) for engine in left]
        closest = min(range(len(left)), key=lambda index: len(differences[index]))
        assert differences[closest] == []
        left.pop(closest)
