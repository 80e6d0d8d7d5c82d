"""docs/lesson.md: its prose is written by hand, its table of corrections here."""

from __future__ import annotations

import re

from scheduler_reader.data import documents
from scheduler_reader.report.skill.tables import corrections

_MARKED = re.compile(r"(<!-- corrections -->\n).*?(<!-- /corrections -->)", re.S)


def with_corrections(page: str) -> str:
    """The page with the table as `compat_matrix/skill.yaml` has it now."""
    words = documents("compat_matrix")["skill.yaml"]["corrections"]
    table = f"\n{corrections(words)}\n\n"
    return _MARKED.sub(lambda found: found[1] + table + found[2], page)
