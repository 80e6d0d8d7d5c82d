"""Options in one text without a program (`server_args: --max-model-len 4096 …`), as words.

Whoever uses the text cuts it as a shell does, or at blanks; JSON without quotes around it is kept
as it stands, which the first would not do and both mean.
"""

from __future__ import annotations

import json
import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_lexer import tokenize
from scheduler_reader.parse.shell_tokens import ShellWord
from scheduler_reader.parse.shell_variables import Variables
from scheduler_reader.parse.source import Word

BARE_JSON = re.compile(r"(?<=\s)\{[^\s']*\}(?=\s|$)")
KEPT_QUOTE = "\ue000"  # stands for a quote that is part of bare JSON


def option_text_words(file: InputFile) -> tuple[Word, ...]:
    """The words of the whole text; line breaks separate words like blanks."""
    variables = Variables(file)
    text = file.text.replace("\\\n", "  ").replace("\n", " ")
    text = BARE_JSON.sub(_with_kept_quotes, text)
    tokens = [token for token in tokenize(text) if isinstance(token, ShellWord)]
    starts = _line_starts(file.text)
    words = []
    for token in tokens:
        offset = token.column - 1
        row = max(index for index, start in enumerate(starts) if start <= offset)
        origin = file.origin(row + 1, offset - starts[row] + 1)
        words += [
            Word(word.text.replace(KEPT_QUOTE, '"'), origin, word.unknown)
            for word in variables.expand(token)
        ]
    return tuple(words)


def _with_kept_quotes(match: re.Match[str]) -> str:
    try:
        json.loads(match[0])
    except ValueError:
        return match[0]
    return match[0].replace('"', KEPT_QUOTE)


def _line_starts(text: str) -> list[int]:
    return [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
