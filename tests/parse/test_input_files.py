"""Every file of tests/inputs/<form>/ parses to what the JSON file beside it says.

The JSON gives, for each engine, the keys that matter in that file; `unresolved` lists names only,
and `problems` the lines at which a problem is reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.parse import parse_file, to_json

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
CASES = sorted(
    expected for form in ("config-yaml", "shell") for expected in (INPUTS / form).glob("*.json")
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
    (source,) = (path for path in expected.parent.glob(f"{expected.stem}.*") if path != expected)
    want = json.loads(expected.read_text())
    (got,) = to_json([parse_file(str(source))])["files"]
    assert len(got["engines"]) == len(want["engines"])
    for engine, described_engine in zip(got["engines"], want["engines"], strict=True):
        described_engine["unresolved"] = sorted(described_engine.get("unresolved", []))
        assert described(engine, described_engine.keys()) == described_engine
    assert [problem["line"] for problem in got["problems"]] == want["problems"]
