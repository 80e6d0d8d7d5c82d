"""docs/lesson.md: its prose is written by hand, its outputs and the table of corrections here."""

from __future__ import annotations

import re
from pathlib import Path

from pages.commands import with_outputs
from scheduler_reader.data import documents
from scheduler_reader.report.skill.tables import corrections

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "lesson.md"
_MARKED = re.compile(r"(<!-- corrections -->\n).*?(<!-- /corrections -->)", re.S)


def lesson_page() -> dict[str, str]:
    """Path below docs/ → text."""
    text = with_outputs(PAGE.read_text(encoding="utf-8"))
    words = documents("compat_matrix")["skill.yaml"]["corrections"]
    table = f"\n{corrections(words)}\n\n"
    return {"lesson.md": _MARKED.sub(lambda found: found[1] + table + found[2], text)}
