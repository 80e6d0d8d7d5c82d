"""Where the comments of a text are, in the syntaxes that need no parser of their own."""

from __future__ import annotations

from scheduler_reader.parse.hcl_text import HEREDOC, string_end


def line_comments(text: str, markers: str) -> list[tuple[int, int, str]]:
    """Comments that take a line of their own: of Dockerfiles and INI files."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.lstrip()
        if content and content[0] in markers:
            found.append((number, len(line) - len(content) + 1, content))
    return found


def hash_comments(text: str) -> list[tuple[int, int, str]]:
    """Comments from a `#` outside of double quotes to the end of the line: of protobuf text."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        position = 0
        while position < len(line) and line[position] != "#":
            position = string_end(line, position) if line[position] == '"' else position + 1
        if position < len(line):
            found.append((number, position + 1, line[position:]))
    return found


def hcl_comments(text: str) -> list[tuple[int, int, str]]:
    """Comments of HCL: `#`, `//` and the lines of `/* */`, outside of strings and here documents."""
    found: list[tuple[int, int, str]] = []
    position = 0
    while position < len(text):
        heredoc = HEREDOC.match(text, position) if text[position] == "<" else None
        if text[position] == '"':
            position = string_end(text, position)
        elif heredoc is not None:
            position = _heredoc_end(text, heredoc.end(), heredoc[2])
        elif text[position] == "#" or text.startswith(("//", "/*"), position):
            closing = "*/" if text.startswith("/*", position) else "\n"
            end = text.find(closing, position)
            end = len(text) if end < 0 else end
            found += _lines(text, position, end)
            position = end + 1
        else:
            position += 1
    return found


def _heredoc_end(text: str, position: int, delimiter: str) -> int:
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        if text[position:end].strip() == delimiter:
            return end
        position = end + 1
    return position


def _lines(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Each line of a comment, which may take several."""
    first = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    lines = text[start:end].split("\n")
    return [(first + n, column if n == 0 else 1, line) for n, line in enumerate(lines)]
