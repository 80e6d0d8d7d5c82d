"""The tokens of shell text, each with its line and column."""

from __future__ import annotations

from scheduler_reader.record import Record


class Fragment(Record):
    """A stretch of a word: plain text, or a reference such as `${X:-8}` as written."""

    text: str
    is_quoted: bool
    is_reference: bool = False


class ShellWord(Record):
    """One word.  `items` holds the words of an array: `ARGS=(--a b)`."""

    fragments: tuple[Fragment, ...]
    line: int
    column: int
    items: tuple[ShellWord, ...] | None = None

    @property
    def plain(self) -> str | None:
        """The text of a word without quotes and references, as keywords need it."""
        if len(self.fragments) == 1 and not self.items:
            only = self.fragments[0]
            if not only.is_quoted and not only.is_reference:
                return only.text
        return None


class Operator(Record):
    """`;`, `&&`, a newline and so on."""

    text: str
    line: int
    column: int


class HereDocument(Record):
    """The body of `<<WORD`; `is_quoted` when no reference in it is expanded."""

    text: str
    is_quoted: bool
    line: int


Token = ShellWord | Operator | HereDocument
