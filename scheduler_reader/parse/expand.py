"""References in text (`${X:-8}`, `$X`, `$(X)`, `{{ .x }}`) → text, or the reason there is none.

Nothing is executed and no environment is read: a reference has a value when the same file gives
it one, or when it carries its own default.  Three dialects differ only in what a reference looks
like: the shell's and compose's `${X:-default}`, Kubernetes' `$(X)`, and templates' `{{ }}`, which
are never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from scheduler_reader.record import Record

Dialect = Literal["shell", "compose", "kubernetes"]

TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
SHELL_NAME = re.compile(r"\$(?:([A-Za-z_]\w*)|([0-9@*#?$!-]))")
BRACED = re.compile(r"([A-Za-z_]\w*|[0-9@*#?!]+)(\[[@*\w]+\])?(?:(:?[-=?+])(.*)|(.*))", re.DOTALL)
KUBERNETES = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
MAX_NESTING = 20


class Piece(Record):
    """A stretch of text.  `unknown` says why the text is still a reference, as it is written."""

    text: str
    unknown: str | None = None


Text = tuple[Piece, ...]
Lookup = Callable[[str], Text | None]


def expand(text: str, lookup: Lookup, dialect: Dialect) -> Text:
    """The pieces of a text; `lookup` gives the pieces of a name, or None when nobody sets it."""
    return tuple(_pieces(text, lookup, dialect, 0))


def joined(pieces: Text) -> tuple[str, str | None]:
    """The whole text, and why it is not known when a part of it is not."""
    text = "".join(piece.text for piece in pieces)
    return text, next((piece.unknown for piece in pieces if piece.unknown), None)


def reference(raw: str, lookup: Lookup, dialect: Dialect, depth: int = 0) -> Text:
    """The pieces of one reference as it is written: `$X`, `${X:-8}`, `$(nproc)`."""
    if depth > MAX_NESTING:
        return (Piece(raw, f"{_short(raw)} nests too deeply"),)
    if raw.startswith("{{"):
        return (Piece(raw, f"template {_short(raw)}"),)
    if raw.startswith(("$((", "$[")):
        return (Piece(raw, f"{_short(raw)} is arithmetic"),)
    if raw.startswith(("$(", "`")):
        return (Piece(raw, f"{_short(raw)} is the output of a command"),)
    if raw.startswith("${"):
        return _braced(raw, lookup, dialect, depth)
    return lookup(raw[1:]) or _unset(raw, raw[1:], dialect)


def closing(text: str, start: int) -> int:
    """Index after the bracket that closes the one at `start`; quotes inside are skipped.

    Text that never closes ends at its end.
    """
    pairs = {"(": ")", "{": "}"}
    stack = [pairs[text[start]]]
    position = start + 1
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character in "'\"":
            position = _quote_end(text, position)
            continue
        if character in pairs:
            stack.append(pairs[character])
        elif character == stack[-1]:
            stack.pop()
            if not stack:
                return position + 1
        position += 1
    return len(text)


def _quote_end(text: str, start: int) -> int:
    """Index after the quote that opens at `start`; a backslash counts only in double quotes."""
    position = start + 1
    while position < len(text) and text[position] != text[start]:
        position += 2 if text[position] == "\\" and text[start] == '"' else 1
    return min(position + 1, len(text))


def _pieces(text: str, lookup: Lookup, dialect: Dialect, depth: int) -> Iterator[Piece]:
    start = position = 0
    while position < len(text):
        end = _reference_end(text, position, dialect)
        if end is None:
            position += 1
            continue
        if start < position:
            yield Piece(text[start:position])
        raw = text[position:end]
        if raw == "$$":
            yield Piece("$")
        elif dialect == "kubernetes" and not raw.startswith("{{"):
            yield from lookup(raw[2:-1]) or _unset(raw, raw[2:-1], dialect)
        else:
            yield from reference(raw, lookup, dialect, depth)
        start = position = end
    if start < len(text):
        yield Piece(text[start:])


def _reference_end(text: str, position: int, dialect: Dialect) -> int | None:
    """Index after the reference that starts at `position`, or None when none starts there."""
    if text.startswith("{{", position):
        template = TEMPLATE.match(text, position)
        return template.end() if template else None
    if text[position] != "$" or position + 1 >= len(text):
        return None
    following = text[position + 1]
    if following == "$" and dialect != "shell":
        return position + 2
    if dialect == "kubernetes":
        match = KUBERNETES.match(text, position)
        return match.end() if match else None
    if following == "{" or (following == "(" and dialect == "shell"):
        return closing(text, position + 1)
    match = SHELL_NAME.match(text, position)
    if match is None or (dialect == "compose" and match[1] is None):
        return None
    return match.end()


def _braced(raw: str, lookup: Lookup, dialect: Dialect, depth: int) -> Text:
    """`${X}`, and the forms that carry a default or an alternative."""
    match = BRACED.fullmatch(raw[2:-1] if raw.endswith("}") else raw[2:])
    if match is None or match[5]:
        return (Piece(raw, f"{_short(raw)} is computed by the shell"),)
    name, operator, word = match[1] + (match[2] or ""), match[3], match[4]
    value = lookup(name)
    if value is not None and joined(value)[1] and operator is not None and "?" not in operator:
        return (Piece(raw, joined(value)[1]),)
    if operator is None or operator in {"?", ":?"}:
        return value or _unset(raw, name, dialect)
    is_empty = value is not None and joined(value) == ("", None)
    is_missing = value is None or (is_empty and operator.startswith(":"))
    if operator.endswith("+"):
        return () if is_missing else _default(word, lookup, dialect, depth)
    return _default(word, lookup, dialect, depth) if is_missing else value or ()


def _default(word: str, lookup: Lookup, dialect: Dialect, depth: int) -> Text:
    if dialect == "shell" and len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        quote, word = word[0], word[1:-1]
        if quote == "'":
            return (Piece(word),)
        word = word.replace('\\"', '"')
    return tuple(_pieces(word, lookup, dialect, depth + 1)) or (Piece(""),)


def _unset(raw: str, name: str, dialect: Dialect) -> Text:
    name = name.partition("[")[0]
    if dialect == "compose":
        return (Piece(raw, f"${name} comes from the environment or .env, not from the file"),)
    return (Piece(raw, f"${name} is not set in the file"),)


def _short(raw: str) -> str:
    text = " ".join(raw.split())
    return text if len(text) <= 40 else text[:37] + "…"
