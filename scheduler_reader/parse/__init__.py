"""What people write → engines with their arguments, environment and places.

Nothing here depends on a vLLM release except `arguments.read_arguments`, which reads the
arguments of a parsed engine as one release's own parser does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import MARK, ParsedFile

__all__ = ["parse_command", "parse_file", "parse_text", "to_json"]


def parse_file(path: str) -> ParsedFile:
    """Parse one file.  Raises `InputError` when it cannot be read or is of no known form.

    A `--config` file that it names is read as well, if it lies in the same folder or below.
    """
    from scheduler_reader.parse.input_file import read_input

    return _parsed(read_input(path), Path(path).parent)


def parse_text(text: str, path: str = "<stdin>", tree: Path = Path()) -> ParsedFile:
    """Parse text that is already at hand: of stdin, or of a file below the folder `tree`."""
    from scheduler_reader.parse.input_file import input_text

    return _parsed(input_text(text, path), tree)


def parse_command(arguments: Sequence[str]) -> ParsedFile:
    """Parse a command line given as words: `[NAME=…] vllm serve MODEL …`."""
    from scheduler_reader.parse.command_line import read_command
    from scheduler_reader.parse.config_file import with_config_files

    return with_config_files(read_command(arguments), tree=None)


def _parsed(file: InputFile, tree: Path) -> ParsedFile:
    from scheduler_reader.parse.config_file import with_config_files
    from scheduler_reader.parse.detect import read_form
    from scheduler_reader.parse.neighbours import with_neighbours

    parsed = read_form(file)
    if MARK in file.text:
        from scheduler_reader.parse.remarks import find_remarks

        parsed = parsed._replace(remarks=find_remarks(parsed, file))
    return with_neighbours(with_config_files(parsed, tree))


def to_json(files: Iterable[ParsedFile]) -> dict[str, Any]:
    """What `parse --format json` prints: `{files: [{path, form, engines, problems}]}`."""
    from scheduler_reader.parse.parsed_json import to_json as convert

    return convert(files)
