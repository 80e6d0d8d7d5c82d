"""The blocks of the report for people as HTML; every text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from scheduler_reader.report.terminal.blocks import Bar, Block, Columns, Paragraph, Segment, Span

Clean = Callable[[str], str]


def html(blocks: Iterable[Block], clean: Clean) -> str:
    """A heading with its text, paragraphs, tables, and bars drawn to scale."""
    return "\n".join(part for block in blocks for part in _parts(block, clean))


def spans(parts: Sequence[Span], clean: Clean) -> str:
    """A line of text; a style is the class of its part."""
    return "".join(
        f'<span class="{style}">{escape(clean(text))}</span>' if style else escape(clean(text))
        for text, style in parts
    )


def _parts(block: Block, clean: Clean) -> Iterator[str]:
    if isinstance(block, Columns):
        yield _table(block, clean)
    elif isinstance(block, Bar):
        yield from _bar(block)
    elif block.spans:
        yield from _paragraph(block, clean)


def _paragraph(block: Paragraph, clean: Clean) -> Iterator[str]:
    """A paragraph that starts at the margin with a head is a heading, and what follows is text."""
    (text, style), *rest = block.spans
    if style == "head" and not block.indent:
        yield f"<h3>{escape(clean(text).strip().rstrip(':'))}</h3>"
        if not rest:
            return
        yield f"<p>{spans(rest, clean).strip()}</p>"
    else:
        yield f"<p>{spans(block.spans, clean).strip()}</p>"


def _table(block: Columns, clean: Clean) -> str:
    rows = "".join(
        f"<tr>{''.join(_cell(*each, clean) for each in zip(row, block.align, strict=True))}</tr>"
        for row in block.rows
    )
    return f'<div class="scroll"><table>{rows}</table></div>'


def _cell(span: Span, side: str, clean: Clean) -> str:
    place = ' class="r"' if side == "r" else ""
    return f"<td{place}>{spans([span], clean).strip()}</td>"


def _bar(block: Bar) -> Iterator[str]:
    total = sum(segment.size for segment in block.segments)
    drawn = [segment for segment in block.segments if segment.size > 0]
    parts = "".join(
        f'<i class="{each.style}" style="width:{each.size / total:.3%}" title="{_said(each)}"></i>'
        for each in drawn
    )
    mark = (
        f'<div class="mark" style="left:{min(block.mark / total, 1.0):.3%}" title="budget"></div>'
    )
    said = ", ".join(map(_said, drawn))
    yield f'<div class="bar"><div class="parts" role="img" aria-label="{said}">{parts}</div>{mark}</div>'
    legend = "".join(f'<li><i class="{each.style}"></i>{_said(each)}</li>' for each in drawn)
    yield f'<ul class="legend">{legend}</ul>'


def _said(segment: Segment) -> str:
    return escape(f"{segment.name} {segment.amount} GiB")
