"""Options in one text without a program (`server_args: --max-model-len 4096 …`), as words."""

from __future__ import annotations

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_lexer import tokenize
from scheduler_reader.parse.shell_tokens import ShellWord
from scheduler_reader.parse.shell_variables import Variables
from scheduler_reader.parse.source import Word


def option_text_words(file: InputFile) -> tuple[Word, ...]:
    """The words of the whole text; line breaks separate words like blanks."""
    variables = Variables(file)
    text = file.text.replace("\\\n", "  ").replace("\n", " ")
    tokens = [token for token in tokenize(text) if isinstance(token, ShellWord)]
    starts = _line_starts(file.text)
    words = []
    for token in tokens:
        offset = token.column - 1
        row = max(index for index, start in enumerate(starts) if start <= offset)
        origin = file.origin(row + 1, offset - starts[row] + 1)
        words += [Word(w.text, origin, w.unknown) for w in variables.expand(token)]
    return tuple(words)


def _line_starts(text: str) -> list[int]:
    return [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
