"""The blocks of the report for people as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from scheduler_reader.report import markdown_text as md
from scheduler_reader.report.terminal.blocks import Bar, Block, Columns, Paragraph, Span
from scheduler_reader.report.wording import gib

Clean = Callable[[str], str]
_ALIGN = {"l": "---", "r": "--:"}


def markdown(blocks: Iterable[Block], clean: Clean) -> str:
    """Paragraphs, tables, and a table for a bar, with blank lines between them."""
    return "\n\n".join(part for block in blocks if (part := _part(block, clean)))


def spans(parts: Sequence[Span], clean: Clean) -> str:
    """A line of text, its heads bold."""
    return "".join(_span(text, style, clean) for text, style in parts)


def _span(text: str, style: str, clean: Clean) -> str:
    body = md.escaped(clean(text))
    if not body:
        return " " if text else ""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() else ""
    strong = "**" if style in ("head", "good", "error", "warning", "set") else ""
    return f"{before}{strong}{body}{strong}{after}"


def _part(block: Block, clean: Clean) -> str:
    if isinstance(block, Columns):
        return "\n".join(_table(block, clean))
    if isinstance(block, Bar):
        return _bar(block)
    return spans(block.spans, clean).strip() if isinstance(block, Paragraph) else ""


def _table(block: Columns, clean: Clean) -> Iterator[str]:
    """A table of Markdown has a head: the first row where all of it is dim, else an empty one."""
    rows = list(block.rows)
    has_head = all(style == "dim" for _, style in rows[0])
    head = rows.pop(0) if has_head else tuple(("", "") for _ in rows[0])
    yield _row(md.escaped(clean(text)) for text, _ in head)
    yield _row(_ALIGN[side] for side in block.align)
    for row in rows:
        yield _row(spans([cell], clean).strip() for cell in row)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _bar(block: Bar) -> str:
    """The parts of a bar with their amounts; drawn to scale it would need a picture."""
    used = [segment for segment in block.segments if segment.size]
    rows = [_row(segment.name for segment in used), _row("--:" for _ in used)]
    return "\n".join([*rows, _row(f"{gib(segment.size)} GiB" for segment in used)])
