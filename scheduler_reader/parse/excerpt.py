"""A text that stands inside another one, quoted, indented or folded, with places in the outer file.

`sh -c "…"` in a script, a block scalar in YAML, a folded `command: >`: the inner text has lost the
line breaks, the indentation and the escapes of the outer one.  Its words are found again in the
outer text, in order, so that every argument has the line and column a reader would look at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.value import Origin

WORD = re.compile(r"[\w./:=@%+-]+")
BETWEEN = re.compile(r"[\s\"'\\,\[\]|>-]*")
SHORT = 3  # a shorter word is only found where the last one ended
REFERENCE = re.compile(r"([\"']?)\$(?:\w+|\{\w+\})\1(?=[\s;&|)]|$)")  # a word that is one variable
REACH = 600  # characters of the outer text in which the next word must stand


@dataclass(frozen=True, slots=True)
class Excerpt(InputFile):
    """The inner `text`; `outer` is the whole file, and `start` where the inner text begins in it.

    A text that a variable holds stands elsewhere: all its places are that of the variable's use.
    """

    outer: str = ""
    start: int = 0
    anchors: list[tuple[int, int]] = field(
        default_factory=list, compare=False
    )  # inner offset, outer offset

    def origin(self, line: int | None = None, column: int | None = None) -> Origin:
        """The place in the outer file of a line and column of the inner text."""
        if line is None:
            return Origin("file", path=self.path)
        return self.place(_offset(self.text, line, column or 1))

    def place(self, offset: int) -> Origin:
        """The place in the outer file of a character of the inner text."""
        if not self.anchors and REFERENCE.match(self.outer, self.start):
            return self._position(self.start)
        if not self.anchors:
            self.anchors.extend(_anchors(self.text, self.outer, self.start))
        index = bisect_right(self.anchors, (offset, len(self.outer))) - 1
        inner, outer = self.anchors[max(index, 0)]
        return self._position(min(outer + max(offset - inner, 0), len(self.outer)))

    def _position(self, position: int) -> Origin:
        row = self.outer.count("\n", 0, position)
        column = position - self.outer.rfind("\n", 0, position)
        return Origin("file", path=self.path, line=row + 1, column=column)


def excerpt(file: InputFile, text: str, line: int, column: int) -> Excerpt:
    """`text` as it stands in `file` from a line and column on."""
    outer = file.outer if isinstance(file, Excerpt) else file.text
    return Excerpt(file.path, text, outer, _offset(outer, line, column))


def _anchors(inner: str, outer: str, start: int) -> list[tuple[int, int]]:
    anchors = [(0, start)]
    position = start
    for match in WORD.finditer(inner):
        word = match[0]
        found = outer.find(word, position, position + REACH)
        if found >= 0 and len(word) < SHORT and not BETWEEN.fullmatch(outer, position, found):
            found = -1
        if found >= 0:
            anchors.append((match.start(), found))
            position = found + len(word)
    return anchors


def _offset(text: str, line: int, column: int) -> int:
    position = 0
    for _ in range(line - 1):
        end = text.find("\n", position)
        if end < 0:
            break
        position = end + 1
    return min(position + column - 1, len(text))
