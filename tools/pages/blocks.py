"""The command blocks of a Markdown page, and what the page says of each.

A comment directly above a block says what is not ordinary about it:

    <!-- exit 1 -->            findings are expected
    <!-- set up: NAME -->      it needs a checkout, a network, another program …: tests/docs/set_ups.py
    <!-- file: PATH -->        it is a file, not a command

A ```text block directly below it is what it prints; a line `…` stands for lines left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LANGUAGES = {"sh", "python"}
_OTHER_SHELLS = {"bash", "console", "shell", "shell-session", "zsh", ""}
_EXIT = re.compile(r"<!-- exit (\d+) -->")
_FILE = re.compile(r"<!-- file: (.+?) -->")
_SET_UP = re.compile(r"<!-- set up: (.+?) -->")


class Lines(NamedTuple):
    """Lines of a page, counted from 0, the last one not included."""

    first: int
    end: int


class Block(NamedTuple):
    """One command block."""

    line: int  # of the opening fence, counted from 1
    language: str
    commands: str
    exit_code: int
    set_up: str | None  # by which a test runs it; None: it runs with its page
    output: Lines | None  # of what stands below as its output


def blocks(page: str) -> list[Block]:
    """The command blocks of a page; ValueError for a block of which nobody can say whether it is one."""
    tokens = MarkdownIt().parse(page)
    found = []
    for at, token in enumerate(tokens):
        if token.type == "fence" and _is_run(token):
            comments = _comments(tokens[:at])
            if not _FILE.search(comments):
                found.append(_block(token, comments, tokens[at + 1 : at + 2]))
    return found


def _is_run(token: Token) -> bool:
    language = token.info.strip()
    if language in _OTHER_SHELLS:
        raise ValueError(
            f"line {_lines(token).first + 1}: a block of commands is ```sh, text is ```text"
        )
    return language in LANGUAGES


def _comments(before: list[Token]) -> str:
    found = []
    for token in reversed(before):
        if token.type != "html_block":
            break
        found.append(token.content)
    return "".join(reversed(found))


def _block(token: Token, comments: str, after: list[Token]) -> Block:
    expected, set_up = _EXIT.search(comments), _SET_UP.search(comments)
    is_output = bool(after) and after[0].type == "fence" and after[0].info.strip() == "text"
    inner = _lines(after[0]) if is_output else None
    return Block(
        line=_lines(token).first + 1,
        language=token.info.strip(),
        commands=token.content,
        exit_code=int(expected[1]) if expected else 0,
        set_up=set_up[1] if set_up else None,
        output=Lines(inner.first + 1, inner.end - 1) if inner else None,
    )


def _lines(token: Token) -> Lines:
    assert token.map is not None  # of every block token
    return Lines(*token.map)
