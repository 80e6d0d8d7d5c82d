"""A command line given to us as words (after `--`): `[NAME=…] vllm serve MODEL …`."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.serve_command import serve_command
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.value import Origin

FORM = "command-line"
PATH = "<command line>"


def read_command(arguments: Sequence[str]) -> ParsedFile:
    """The engine that a command starts; raises `InputError` when it is no vLLM server."""
    origin = Origin("command line")
    words = [Word(text, origin) for text in arguments]
    quoted = _quoted_command(words[0].text) if len(words) == 1 else ()
    if quoted:
        return ParsedFile(PATH, FORM, quoted)
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


def _quoted_command(text: str) -> tuple[ParsedEngine, ...]:
    """The engines of a whole command in one word: `-- "vllm serve MODEL | tee log"`."""
    from scheduler_reader.parse.shell_engines import engines_in_shell, mentions_server

    if not mentions_server(text):
        return ()
    return engines_in_shell(text, InputFile(PATH, text), FORM)
