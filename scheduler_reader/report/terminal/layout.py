"""Blocks to lines: wrapping, columns and bars for one console's width, colours and encoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from scheduler_reader.privacy import mask, printable
from scheduler_reader.report.terminal.blocks import Bar, Block, Columns, Paragraph, Segment, Span

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDEST = 100  # longer lines are hard to read, however wide the window is
NARROWEST = 40
LAST_COLUMN = 18  # the least room for a wrapped column

STYLES = {
    "": "",
    "head": "bold",
    "dim": "dim",
    "good": "bold green",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "cyan",
    "set": "bold",
    "weights": "blue",
    "activation": "magenta",
    "graphs": "yellow",
    "non_torch": "cyan",
    "others": "red",
    "kv": "green",
    "unused": "bright_black",
}

_ASCII = str.maketrans(
    {
        "–": "-",
        "—": "-",
        "−": "-",
        "→": "->",
        "×": "x",
        "·": "|",
        "±": "+/-",
        "≤": "<=",
        "≥": ">=",
        "≈": "~",
        "…": "...",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "\N{NO-BREAK SPACE}": " ",
    }
)


class Layout:
    """How one console takes text, and the secrets that must not appear on it.

    A console asks the terminal for its width at each look, so it is asked once.  `draws_blocks`:
    a bar can be drawn in coloured blocks; letters tell its parts apart otherwise.
    """

    def __init__(self, console: Console, secrets: tuple[str, ...] = ()) -> None:
        self.console = console
        self.secrets = secrets
        self.width = max(NARROWEST, min(WIDEST, console.width))
        self.is_unicode = console.encoding.lower().replace("-", "").startswith("utf")
        self.draws_blocks = self.is_unicode and console.color_system is not None

    def text(self, spans: Iterable[Span]) -> Text:
        """Spans as rich text: no markup is read, no control character or secret gets through."""
        from rich.text import Text

        return Text.assemble(*((self._clean(text), STYLES[style]) for text, style in spans))

    def print(self, blocks: Iterable[Block]) -> None:
        """All lines at once: each print to a console costs as much as the line."""
        from rich.text import Text

        lines = [line for block in blocks for line in self.lines(block)]
        if lines:
            self.console.print(Text("\n").join(lines), soft_wrap=True)

    def lines(self, block: Block) -> Iterator[Text]:
        """The lines of one block, none longer than the width."""
        if isinstance(block, Columns):
            yield from self._columns(block)
        elif isinstance(block, Bar):
            yield from self._bar(block)
        else:
            yield from self._paragraph(block)

    def _clean(self, text: str) -> str:
        text = printable(mask(text, self.secrets))
        if self.is_unicode:
            return text
        encoding = self.console.encoding
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)

    def _paragraph(self, block: Paragraph) -> Iterator[Text]:
        first = " " * block.indent
        yield from self._wrap(self.text(block.spans), first, first + " " * block.hang)

    def _wrap(self, text: Text, first: str, rest: str) -> Iterator[Text]:
        """Wrap at spaces; `first` and `rest` stand before the first and the other lines."""
        room = max(LAST_COLUMN, self.width - max(len(first), len(rest)))
        for i, line in enumerate(text.wrap(self.console, room)):
            whole = self.text([(rest if i else first, "")]).append_text(line)
            whole.rstrip()
            yield whole

    def _columns(self, block: Columns) -> Iterator[Text]:
        rows = [[self.text([cell]) for cell in row] for row in block.rows]
        widths = [max(row[i].cell_len for row in rows) for i in range(len(block.align) - 1)]
        last = max(row[-1].cell_len for row in rows) if block.align[-1] == "r" else 0
        room = self.width - (last or LAST_COLUMN)  # figures on the right are short and never wrap
        is_tight = block.indent + sum(widths) + block.gap * len(widths) > room
        gap = 1 if is_tight else block.gap
        start = block.indent + sum(widths) + gap * len(widths)
        for row in rows:
            line = self.text([(" " * block.indent, "")])
            for cell, width, side in zip(row[:-1], widths, block.align, strict=False):
                padding = " " * (width - cell.cell_len)
                line.append("" if side == "l" else padding).append_text(cell)
                line.append((padding if side == "l" else "") + " " * gap)
            line.append(" " * (last - row[-1].cell_len))
            yield from self._last_column(line, row[-1], start)

    def _last_column(self, line: Text, cell: Text, start: int) -> Iterator[Text]:
        """The wrapped last cell beside the others."""
        for i, part in enumerate(self._wrap(cell, "", " " * start)):
            whole = part if i else line.append_text(part)
            whole.rstrip()
            yield whole

    def _bar(self, block: Bar) -> Iterator[Text]:
        length = self.width - 2 * block.indent
        total = sum(segment.size for segment in block.segments)
        mark = min(length - 1, round(length * block.mark / total))
        line = self.text([(" " * block.indent, "")])
        reached, drawn = 0.0, 0
        for segment in block.segments:
            reached += segment.size
            end = round(length * reached / total)
            for column in range(drawn, end):
                glyph, style = ("|", STYLES["head"]) if column == mark else self._glyph(segment)
                line.append(glyph, style)
            drawn = end
        yield line
        yield from self._legend(block)

    def _glyph(self, segment: Segment) -> tuple[str, str]:
        """What draws a segment: a coloured block, or its letter where colours cannot tell."""
        return ("█" if self.draws_blocks else segment.letter), STYLES[segment.style]

    def _legend(self, block: Bar) -> Iterator[Text]:
        cells = [
            ((self._glyph(segment)[0], segment.style), (segment.name, ""), (segment.amount, ""))
            for segment in block.segments
        ]
        half = len(cells) // 2
        rows = [
            tuple(cell for three in cells[i::2] for cell in (*three, (" ", ""))) for i in range(2)
        ]
        yield from self._columns(Columns(tuple(rows), "llrl" * half, block.indent, gap=1))
