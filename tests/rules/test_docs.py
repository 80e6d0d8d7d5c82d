"""docs/rules.md is what the tool writes."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "rule_docs.py"


def test_the_page_of_rules_is_current() -> None:
    tool = runpy.run_path(str(TOOL))
    assert tool["PAGE"].read_text() == tool["page"](), f"run python {TOOL.name}"
