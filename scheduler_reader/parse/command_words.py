"""A command given as one string, cut into words as compose and Docker do: no shell runs it.

Quotes and backslashes count, variables and operators do not.  Source: compose-spec (`command`),
which refers to the shell-words rules of the Go library mattn/go-shellwords.
"""

from __future__ import annotations


def split_command(text: str) -> list[tuple[str, int]] | None:
    """The words with their offsets, or None when a quote never closes."""
    words: list[tuple[str, int]] = []
    current: list[str] | None = None
    start = position = 0
    quote = ""
    while position < len(text):
        character = text[position]
        position += 1
        if not quote and character.isspace():
            if current is not None:
                words.append(("".join(current), start))
                current = None
            continue
        if current is None:
            current, start = [], position - 1
        if character == "\\" and quote != "'" and position < len(text):
            if text[position] != "\n":
                current.append(text[position])
            position += 1
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            current.append(character)
    if current is not None:
        words.append(("".join(current), start))
    return None if quote else words
