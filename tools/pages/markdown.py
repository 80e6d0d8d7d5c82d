"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GENERATED = "Written by `python tools/docs.py`; edit the data or that tool instead."


def cell(text: str) -> str:
    """Text on one line that does not end a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty when it has no rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def page(*blocks: str) -> str:
    """Blocks with a blank line between them; empty ones are left out."""
    return "\n\n".join(block for block in blocks if block) + "\n"
