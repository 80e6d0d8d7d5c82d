"""docs/report.md names every key of the JSON report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import built_assessments as build

from scheduler_reader.report.formats import json as report
from scheduler_reader.report.report import Report

DOCS = Path(__file__).resolve().parents[2] / "docs" / "report.md"
OPEN_MAPPINGS = {"settings", "set", "before", "after", "input_tokens", "output_tokens", "workload"}


def keys(content: Any, is_open: bool = False) -> set[str]:
    """Key names of a document; those of open mappings (setting names, …) are not part of it."""
    if isinstance(content, list):
        return set().union(*(keys(item) for item in content))
    if not isinstance(content, dict):
        return set()
    own = set() if is_open else set(content)
    return own.union(*(keys(item, name in OPEN_MAPPINGS) for name, item in content.items()))


def test_every_key_is_documented() -> None:
    document = json.loads(report.render(Report.of([build.healthy(tuning=(build.tuning_step(),))])))
    documented = set(re.findall(r"\w+", DOCS.read_text(encoding="utf-8")))
    assert keys(document) - documented == set()
