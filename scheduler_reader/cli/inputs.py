"""From the arguments of a command to parsed files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from scheduler_reader.cli.time_limit import time_limit
from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.parse import parse_command, parse_file, parse_text
from scheduler_reader.parse.input_file import MAX_BYTES, STDIN, decode
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.value import Origin


def read_inputs(
    paths: Sequence[str], command: list[str] | None
) -> tuple[list[ParsedFile], list[Unreadable]]:
    """Parse every file, stdin (`-`) and the command line after `--`.

    One that cannot be read, or in which no engine is found, does not keep the others from being read.
    """
    if not paths and command is None:
        raise UsageError("nothing to read: give a file, - for stdin, or -- vllm serve …")
    files: list[ParsedFile] = []
    unreadable: list[Unreadable] = []
    for path in paths:
        try:
            with time_limit(path):
                files.append(parse_text(_stdin(), STDIN) if path == "-" else parse_file(path))
        except InputError as error:
            unreadable.append(Unreadable(path, str(error)))
    if command is not None:
        try:
            with time_limit("<command line>"):
                files.append(parse_command(command))
        except InputError as error:
            unreadable.append(Unreadable("<command line>", str(error)))
    unreadable += [
        Unreadable(file.path, file.why_none_is_readable) for file in files if not file.readable
    ]
    return files, unreadable


def _stdin() -> str:
    return decode(sys.stdin.buffer.read(MAX_BYTES + 1), Origin("file", path=STDIN))
