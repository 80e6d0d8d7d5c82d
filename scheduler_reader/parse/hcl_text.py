"""Where the pieces of HCL text (Terraform, Nomad) end: expressions, strings, here documents."""

from __future__ import annotations

import re

HEREDOC = re.compile(r"<<(-?)([A-Za-z_]\w*)[ \t]*\n")
CLOSING = {"(": ")", "[": "]", "{": "}"}
COMMENTS = ("#", "//", "/*")
MAX_NESTING = 40  # of interpolations in strings in interpolations


def skip_blank(text: str, position: int) -> int:
    """The first position from here on that is neither white space nor in a comment."""
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] == "#" or text.startswith("//", position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif text.startswith("/*", position):
            end = text.find("*/", position)
            position = len(text) if end < 0 else end + 2
        else:
            break
    return position


def string_end(text: str, start: int, depth: int = 0) -> int:
    """The position after the quoted string that starts here, interpolations included."""
    position = start + 1
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
        elif character == '"':
            return position + 1
        elif character == "$" and text.startswith("${", position) and text[position - 1] != "$":
            end = bracket_end(text, position + 1, depth + 1) if depth < MAX_NESTING else 0
            position = end or position + 2
        else:
            position += 1
    return len(text)


def bracket_end(text: str, start: int, depth: int = 0) -> int:
    """The position after the bracket that closes the one at `start`."""
    stack = [CLOSING[text[start]]]
    position = start + 1
    while position < len(text):
        following = _after_quoted(text, position, depth)
        if following is not None:
            position = following
            continue
        character = text[position]
        if character in CLOSING:
            stack.append(CLOSING[character])
        elif character == stack[-1]:
            stack.pop()
            if not stack:
                return position + 1
        position += 1
    return len(text)


def expression_end(text: str, start: int) -> int:
    """The end of the expression that starts here: a line's end, a comma, a bracket or a comment."""
    position = start
    while position < len(text):
        if text.startswith(COMMENTS, position):
            return position
        is_heredoc = HEREDOC.match(text, position) is not None
        following = _after_quoted(text, position, 0)
        if following is not None:
            if is_heredoc:
                return following
            position = following
        elif text[position] in CLOSING:
            position = bracket_end(text, position)
        elif text[position] in ",\n)]}":
            return position
        else:
            position += 1
    return len(text)


def heredoc_end(text: str, match: re.Match[str]) -> tuple[int, int]:
    """The ends of a here document's content and of its last line."""
    delimiter = re.compile(rf"^[ \t]*{re.escape(match[2])}[ \t]*$", re.MULTILINE)
    end = delimiter.search(text, match.end())
    return (end.start(), end.end()) if end else (len(text), len(text))


def _after_quoted(text: str, position: int, depth: int) -> int | None:
    """The end of a string, here document or comment that starts here; None when none does."""
    if text[position] == '"':
        return string_end(text, position, depth)
    if text.startswith(COMMENTS, position):
        return max(skip_blank(text, position), position + 1)
    match = HEREDOC.match(text, position)
    return heredoc_end(text, match)[1] if match else None
