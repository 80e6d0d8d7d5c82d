"""What people write → engines with their arguments, environment and places.

Nothing here depends on a vLLM release except `arguments.read_arguments`, which reads the
arguments of a parsed engine as one release's own parser does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scheduler_reader.parse.source import ParsedFile

__all__ = ["parse_command", "parse_file", "parse_text", "to_json"]


def parse_file(path: str) -> ParsedFile:
    """Parse one file.  Raises `InputError` when it cannot be read or is of no known form."""
    from scheduler_reader.parse.config_file import with_config_files
    from scheduler_reader.parse.detect import read_form
    from scheduler_reader.parse.input_file import read_input

    return with_config_files(read_form(read_input(path)))


def parse_text(text: str, path: str = "<stdin>") -> ParsedFile:
    """Parse text that is already at hand (stdin)."""
    from scheduler_reader.parse.config_file import with_config_files
    from scheduler_reader.parse.detect import read_form
    from scheduler_reader.parse.input_file import input_text

    return with_config_files(read_form(input_text(text, path)))


def parse_command(arguments: Sequence[str]) -> ParsedFile:
    """Parse a command line given as words: `[NAME=…] vllm serve MODEL …`."""
    from scheduler_reader.parse.command_line import read_command
    from scheduler_reader.parse.config_file import with_config_files

    return with_config_files(read_command(arguments))


def to_json(files: Iterable[ParsedFile]) -> dict[str, Any]:
    """What `parse --format json` prints: `{files: [{path, form, engines, problems}]}`."""
    from scheduler_reader.parse.parsed_json import to_json as convert

    return convert(files)
