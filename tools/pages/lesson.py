"""docs/lesson.md: its prose is written by hand, its outputs and the table of corrections here."""

from __future__ import annotations

import re
from pathlib import Path

from pages.commands import with_outputs
from pages.markdown import table
from scheduler_reader.explain.terms import find_term

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "lesson.md"
CORRECTED = (
    "chunked prefill",
    "token budget",
    "gpu memory utilization",
    "KV block",
    "speculative decoding",
    "draft model",
    "client-bound",
    "saturation",
)
_MARKED = re.compile(r"(<!-- corrections -->\n).*?(<!-- /corrections -->)", re.S)


def lesson_page() -> dict[str, str]:
    """Path below docs/ → text."""
    text = with_outputs(PAGE.read_text(encoding="utf-8"))
    corrections = f"\n{corrections_table()}\n\n"
    return {"lesson.md": _MARKED.sub(lambda found: found[1] + corrections + found[2], text)}


def corrections_table() -> str:
    """What is often believed of a term, put right, with the source."""
    terms = [term for word in CORRECTED if (term := find_term(word)) is not None]
    rows = [(term.name, term.mistaken or "", term.source) for term in terms]
    assert len(rows) == len(CORRECTED)
    return table(("about", "what holds", "source"), rows)
