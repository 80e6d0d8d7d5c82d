"""What the terminal report is made of: paragraphs, columns and a bar, before any width is known.

The sections say what there is to say; `layout` turns it into lines for one console.  A span is a
text and the name of its style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from scheduler_reader.record import Record

Span: TypeAlias = tuple[str, str]


class Paragraph(Record):
    """Wrapped text: the first line starts at `indent`, the others at `indent + hang`."""

    spans: tuple[Span, ...]
    indent: int = 0
    hang: int = 0


class Columns(Record):
    """Rows of cells in aligned columns; the last column wraps.  `align` has `l` or `r` a column."""

    rows: tuple[tuple[Span, ...], ...]
    align: str
    indent: int = 2
    gap: int = 2


class Segment(Record):
    """A part of a bar: its size in any unit, its name and amount in words, how it is drawn."""

    size: float
    name: str
    amount: str
    letter: str
    style: str


class Bar(Record):
    """Segments drawn to scale over the whole width, a `|` where the size `mark` is reached, and a
    legend.
    """

    segments: tuple[Segment, ...]
    mark: float
    indent: int = 2


Block: TypeAlias = Paragraph | Columns | Bar

BLANK = Paragraph(())


def paragraph(*parts: str | Span, indent: int = 0, hang: int = 0) -> Paragraph:
    """A paragraph of plain texts and styled spans."""
    spans = tuple((part, "") if isinstance(part, str) else part for part in parts)
    return Paragraph(spans, indent, hang)


def heading(title: str, *rest: str | Span) -> Paragraph:
    """A section's first line: the title, and what belongs on the same line."""
    return paragraph((title, "head"), *rest, hang=2)


def say_once(blocks: Iterable[Block], text: str, long_form: str) -> Iterator[Block]:
    """The blocks with every `text` after the first, and its `long_form`, replaced by "see above".

    An unknown model is the reason for a dozen gaps, and its reason is a long sentence.
    """
    is_said = False

    def shorten(span: Span) -> Span:
        nonlocal is_said
        said = span[0].replace(f": {long_form}", f": {text}")
        if said.startswith(long_form):
            said = text + said.removeprefix(long_form)
        head, found, rest = said.partition(text)
        if not found:
            return span
        first, is_said = ("see above" if is_said else text), True
        return head + first + rest.replace(text, "see above"), span[1]

    for block in blocks:
        if isinstance(block, Paragraph):
            yield block._replace(spans=tuple(map(shorten, block.spans)))
        elif isinstance(block, Columns):
            yield block._replace(rows=tuple(tuple(map(shorten, row)) for row in block.rows))
        else:
            yield block
