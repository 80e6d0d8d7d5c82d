"""A command line given to us as words (after `--`): `[NAME=…] vllm serve MODEL …`."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.serve_command import serve_command
from scheduler_reader.parse.shell_engines import engines_in_shell, mentions_server
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.value import Origin

FORM = "command-line"
PATH = "<command line>"


def read_command(arguments: Sequence[str]) -> ParsedFile:
    """The engine that a command starts; raises `InputError` when it is no vLLM server."""
    origin = Origin("command line")
    words = [Word(text, origin) for text in arguments]
    if len(words) == 1 and mentions_server(words[0].text):
        file = InputFile(PATH, words[0].text)
        return ParsedFile(PATH, FORM, engines_in_shell(file.text, file, FORM))
    found = serve_command(words)
    if found is None:
        raise InputError(
            f"{' '.join(arguments[:3]) or 'nothing'!r} starts no vLLM server; "
            "give `vllm serve MODEL …` or `python -m vllm.entrypoints.openai.api_server …`",
            Origin("command line", path=PATH),
        )
    engine = ParsedEngine(
        FORM, origin, entrypoint=found.entrypoint, words=found.arguments, env=found.env
    )
    return ParsedFile(PATH, FORM, (engine,))
