"""A Dockerfile's instructions with their places: continuations, comments, here documents.

Source: Dockerfile reference (format, parser directives, here-documents).
"""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.record import Record

INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+|$)(.*)", re.DOTALL)
ESCAPE = re.compile(r"\s*#\s*escape\s*=\s*(`|\\)\s*$", re.IGNORECASE | re.MULTILINE)
HERE_DOCUMENT = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
WITH_HERE_DOCUMENTS = frozenset({"RUN", "COPY", "ADD"})


class Instruction(Record):
    """`KEYWORD rest`; `text` has continuation lines joined by a blank line's worth of space."""

    keyword: str
    text: str
    line: int
    column: int  # where `text` starts


def instructions(file: InputFile) -> list[Instruction]:
    """The instructions of a Dockerfile in order; text before the first one is skipped."""
    directive = ESCAPE.match(file.text)
    escape = directive[1] if directive else "\\"
    lines = file.text.split("\n")
    found: list[Instruction] = []
    index = 0
    while index < len(lines):
        first = index
        text, index = _logical_line(lines, index, escape)
        match = INSTRUCTION.fullmatch(text)
        if match is None:
            continue
        keyword = match[1].upper()
        if keyword in WITH_HERE_DOCUMENTS:
            body, index = _here_documents(match[2], lines, index)
            text = match[2] + body
        else:
            text = match[2]
        found.append(Instruction(keyword, text, first + 1, match.start(2) + 1))
    return found


def _logical_line(lines: list[str], index: int, escape: str) -> tuple[str, int]:
    """A line with its continuations (kept as escaped line ends), and the index after it.

    Comments and empty lines between continued lines are dropped, as Docker does.
    """
    parts: list[str] = []
    while index < len(lines):
        line = lines[index]
        index += 1
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        if not parts and line.lstrip().startswith("#"):
            return "", index
        stripped = line.rstrip()
        if not stripped.endswith(escape):
            parts.append(line)
            break
        parts.append(stripped.removesuffix(escape))
    return "\\\n".join(parts), index


def _here_documents(text: str, lines: list[str], index: int) -> tuple[str, int]:
    body = []
    for match in HERE_DOCUMENT.finditer(text):
        while index < len(lines):
            line = lines[index]
            index += 1
            body.append("\n" + line)
            if line.strip() == match[1]:
                break
    return "".join(body), index
