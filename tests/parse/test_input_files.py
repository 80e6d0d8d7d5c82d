"""Every file of tests/inputs/<form>/ parses to what the JSON file beside it says.

`name.json` (or `name.expected.json`, where the input itself is JSON) gives, for each engine, the
keys that matter in that file; `unresolved` lists names only, and `problems` the lines at which a
problem is reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.parse import parse_file, to_json

INPUTS = Path(__file__).resolve().parent.parent / "inputs"


def source_of(expected: Path) -> Path | None:
    """The input beside an expected parse; None for a JSON file that is an input itself."""
    stem = expected.stem.removesuffix(".expected")
    return next((path for path in expected.parent.glob(f"{stem}.*") if path != expected), None)


CASES = sorted(
    path
    for path in INPUTS.glob("*/*.json")
    if path.stem.endswith(".expected") or not path.with_suffix(".expected.json").exists()
)


def described(engine: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    shown = {key: engine[key] for key in keys - {"line", "unresolved"}}
    if "line" in keys:
        shown["line"] = engine["location"]["line"]
    if "unresolved" in keys:
        shown["unresolved"] = sorted(engine["unresolved"])
    return shown


@pytest.mark.parametrize("expected", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_file_parses_to_what_stands_beside_it(expected: Path) -> None:
    source = source_of(expected)
    assert source is not None
    want = json.loads(expected.read_text())
    (got,) = to_json([parse_file(str(source))])["files"]
    assert got["form"] in {expected.parent.name, None}
    assert len(got["engines"]) == len(want["engines"])
    for engine, described_engine in zip(got["engines"], want["engines"], strict=True):
        described_engine["unresolved"] = sorted(described_engine.get("unresolved", []))
        assert described(engine, described_engine.keys()) == described_engine
    assert [problem["line"] for problem in got["problems"]] == want["problems"]
