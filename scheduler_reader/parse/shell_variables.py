"""The variables of a shell script at one point of it, and what a word becomes with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from scheduler_reader.parse.expand import Piece, Text, joined, reference
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_tokens import Fragment, ShellWord
from scheduler_reader.parse.source import Word
from scheduler_reader.value import Known, Origin, Unknown, Value

MAX_CHARACTERS = 100_000  # of one variable; `A=$A$A` doubles it with every line
PARAMETERS_FROM = re.compile(r"\$\{@:([1-9]\d*)\}")  # `${@:2}`

Items = tuple[Text, ...]  # a plain variable has one item, an array any number


def variables_of(env: Mapping[str, Value[str]]) -> dict[str, Items]:
    """An environment that a file states as the variables of a script that runs in it."""
    return {
        name: (
            (Piece(f"${name}", f"${name} {value.reason}"),)
            if isinstance(value, Unknown)
            else (Piece(value.value),),
        )
        for name, value in env.items()
    }


class Variables:
    """Values by name; `exported` are those that reach the environment of a command."""

    def __init__(self, file: InputFile) -> None:
        self.file = file
        self.values: dict[str, Items] = {}
        self.places: dict[str, Origin] = {}
        self.exported: set[str] = set()
        self.exports_all = False

    def set(self, name: str, items: Items, place: Origin) -> None:
        if sum(len(piece.text) for text in items for piece in text) > MAX_CHARACTERS:
            reason = f"${name} grows beyond {MAX_CHARACTERS:,} characters"
            items = ((Piece(f"${name}", reason),),)
        self.values[name] = items
        self.places[name] = place
        if self.exports_all:
            self.exported.add(name)

    def forget(self, name: str, reason: str, place: Origin) -> None:
        """The variable has a value that the script does not say."""
        self.set(name, ((Piece(f"${name}", reason),),), place)

    def unset(self, name: str) -> None:
        self.values.pop(name, None)

    def lookup(self, name: str) -> Text | None:
        items = self.values.get(name.partition("[")[0])
        return items[0] if items else None

    def environment(self) -> dict[str, Value[str]]:
        """What the exported variables are in the environment of the next command."""
        return {
            name: as_value(self.values[name], self.places[name])
            for name in sorted(self.exported & self.values.keys())
        }

    def expand(self, word: ShellWord) -> list[Word]:
        """The words that one word becomes: none, one, or several of an unquoted variable."""
        fields = _Fields()
        for fragment in word.fragments:
            if not fragment.is_reference:
                fields.extend([Piece(fragment.text)])
                continue
            for number, text in enumerate(self._referenced(fragment)):
                if number:
                    fields.end()
                if fragment.is_quoted:
                    fields.extend(list(text))
                else:
                    fields.split(text)
        origin = self.file.origin(word.line, word.column)
        words = []
        for pieces in fields.finished():
            whole, unknown = joined(tuple(pieces))
            words.append(Word(whole, origin, unknown))
        return words

    def assigned(self, word: ShellWord) -> tuple[str, Items]:
        """Name and value of a word `NAME=value`, `NAME+=value` or `NAME=(…)`."""
        target = assignment(word) or ""
        name = target.removesuffix("+")
        before = self.values.get(name, ()) if target.endswith("+") else ()
        if word.items is not None:
            parts = [part for item in word.items for part in self.expand(item)]
            return name, (*before, *((Piece(part.text, part.unknown),) for part in parts))
        pieces = list(before[0]) if before else []
        first, *rest = word.fragments
        pieces.append(Piece(first.text.partition("=")[2]))
        for fragment in rest:
            if fragment.is_reference:
                pieces += reference(fragment.text, self.lookup, "shell")
            else:
                pieces.append(Piece(fragment.text))
        return name, (tuple(piece for piece in pieces if piece.text), *before[1:])

    def _referenced(self, fragment: Fragment) -> Items:
        """What a reference stands for: one text, or the items of an array."""
        slice_of = PARAMETERS_FROM.fullmatch(fragment.text)
        if slice_of is not None and "@" in self.values:
            return self.values["@"][int(slice_of[1]) - 1 :]
        name, bracket, index = fragment.text.strip("${}").partition("[")
        if name in self.values and (name in {"@", "*"} or (bracket and index in {"@]", "*]"})):
            items = self.values[name]
            if len(items) == 1 and items[0] and items[0][0] == (f"${name}", items[0][0].unknown):
                return ((Piece(fragment.text, items[0][0].unknown),),)  # of unknown length
            return items
        return (reference(fragment.text, self.lookup, "shell"),)


class _Fields:
    """The fields that word splitting makes of one word."""

    def __init__(self) -> None:
        self.fields: list[list[Piece]] = []
        self.is_open = False

    def extend(self, pieces: list[Piece]) -> None:
        """Continue the last field, or begin one."""
        if not self.is_open:
            self.fields.append([])
            self.is_open = True
        self.fields[-1] += pieces

    def end(self) -> None:
        self.is_open = False

    def split(self, text: Text) -> None:
        """Unquoted text: its blanks separate fields."""
        for piece in text:
            if piece.unknown:
                self.extend([piece])
                continue
            if piece.text[:1].isspace():
                self.end()
            for number, part in enumerate(piece.text.split()):
                if number:
                    self.end()
                self.extend([Piece(part)])
            if piece.text[-1:].isspace():
                self.end()

    def finished(self) -> list[list[Piece]]:
        return self.fields


def assignment(word: ShellWord) -> str | None:
    """The name (with `+` for `+=`) when a word is an assignment."""
    first = word.fragments[0] if word.fragments else None
    if first is None or first.is_quoted or first.is_reference:
        return None
    name, equals, _ = first.text.partition("=")
    is_name = name.removesuffix("+").isidentifier() and name.isascii()
    return name if equals and is_name else None


def possibly_longer(before: Items | None, afters: list[Items], reason: str) -> Items | None:
    """A variable to which branches may have added options: each addition is there, but unknown.

    Where a branch puts other options in its place, all of them are unknown.  None when the value
    is no options, or becomes something else.
    """
    kept = before or ()
    is_array = () in (before, *afters) or any(len(items) > 1 for items in (kept, *afters))
    additions: list[str] = []
    is_kept = True
    for after in afters:
        added = _added(kept, after, is_array)
        if added is None:
            is_kept, added = False, _texts(after, is_array)
        if added and not added[0].startswith(("-", "$")):
            return None
        additions += added
    if not is_kept:
        replaced = _texts(kept, is_array)
        if not replaced or not replaced[0].startswith("-"):
            return None
        kept, additions = (), [*replaced, *additions]
    if is_array:
        return (*kept, *((Piece(text, reason),) for text in additions))
    spaced = [part for text in additions for part in (Piece(" "), Piece(text, reason))]
    return ((*kept[0], *spaced) if kept and kept[0] else tuple(spaced[1:]),)


def _added(kept: Items, after: Items, is_array: bool) -> list[str] | None:
    """The words that a branch put behind the value before; None when it did not keep that."""
    if is_array:
        return _texts(after[len(kept) :], is_array) if after[: len(kept)] == kept else None
    pieces, old = (after[0] if after else ()), (kept[0] if kept else ())
    return _texts((pieces[len(old) :],), is_array) if pieces[: len(old)] == old else None


def _texts(items: Items, is_array: bool) -> list[str]:
    texts = ["".join(piece.text for piece in text) for text in items]
    return texts if is_array else " ".join(texts).split()


def as_value(items: Items, place: Origin) -> Value[str]:
    """The first item as a text with its place."""
    text, unknown = joined(items[0]) if items else ("", None)
    return Unknown(unknown, place) if unknown else Known(text, place)
