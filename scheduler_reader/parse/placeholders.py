"""Unknown parts of a text, kept through quoting and word splitting.

A form replaces what it cannot resolve (`${X}` of compose, `$(X)` of Kubernetes, `{{ }}`) before
the text is cut into words, as the real program does.  Each unknown part becomes one private
character, which no quoting changes, and turns back into an unknown word in the engine.
"""

from __future__ import annotations

import re
from dataclasses import replace

from scheduler_reader.parse.expand import TEMPLATE, Piece, Text
from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.value import Known, Unknown, Value

REFERENCE = re.compile(r"\$(?:\{\w+[^}]*\}|[A-Za-z_]\w*)")
FIRST = 0xF0000  # supplementary private use area A
IN_EVAL = 0x100000  # area B: a text may hold those of the file around it
COUNT = 0xFFFE  # of either area


class Placeholders:
    """The unknown parts met so far in one file, each behind a character."""

    def __init__(self, first: int = FIRST) -> None:
        self.first = first
        self.parts: list[Piece] = []

    def hide(self, pieces: Text) -> str:
        """The text of the pieces, each unknown one as its placeholder; templates are unknown."""
        return "".join(
            self._hidden(piece) if piece.unknown else self._without_templates(piece.text)
            for piece in pieces
        )

    def hide_unexpanded(self, word: Word, reason: str) -> Word:
        """A word that no shell reads, though it has a `$X`, which becomes unknown for `reason`."""
        text = REFERENCE.sub(
            lambda match: self._hidden(Piece(match[0], f"{match[0]} {reason}")), word.text
        )
        return word._replace(text=text)

    def shown(self, text: str) -> tuple[str, str | None]:
        """A text with its unknown parts as they were written, and why the first is unknown."""
        unknown = None
        characters = []
        for character in text:
            part = self._part(character)
            if part is not None:
                unknown = unknown or part.unknown
            characters.append(part.text if part is not None else character)
        return "".join(characters), unknown

    def word(self, word: Word) -> Word:
        text, unknown = self.shown(word.text)
        return word if text == word.text else Word(text, word.origin, word.unknown or unknown)

    def value(self, value: Value[str]) -> Value[str]:
        if isinstance(value, Unknown):
            return replace(value, reason=self.shown(value.reason)[0])
        text, unknown = self.shown(value.value)
        if unknown is not None:
            return Unknown(unknown, value.origin)
        return value if text == value.value else Known(text, value.origin)

    def engine(self, engine: ParsedEngine) -> ParsedEngine:
        """The engine with every placeholder in its words and environment shown."""
        if not self.parts:
            return engine
        return engine._replace(
            words=tuple(map(self.word, engine.words)),
            env={name: self.value(value) for name, value in engine.env.items()},
        )

    def _hidden(self, piece: Piece) -> str:
        if piece not in self.parts:
            self.parts.append(piece)
        return chr(self.first + min(self.parts.index(piece), COUNT - 1))

    def _without_templates(self, text: str) -> str:
        return TEMPLATE.sub(lambda match: self._hidden(_template(match[0])), text)

    def _part(self, character: str) -> Piece | None:
        index = ord(character) - self.first
        return self.parts[index] if 0 <= index < len(self.parts) else None


def _template(text: str) -> Piece:
    short = " ".join(text.split())
    return Piece(text, f"template {short if len(short) <= 40 else short[:37] + '…'}")
