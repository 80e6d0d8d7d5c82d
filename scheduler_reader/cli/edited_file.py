"""A user's file that a command changes: shown as a difference, or written whole or not at all."""

from __future__ import annotations

import sys
from difflib import unified_diff
from pathlib import Path

from scheduler_reader.cli.output import replace_file
from scheduler_reader.record import Record

MARK = "\ufeff"


class EditedFile(Record):
    """The file's text as it is; a byte order mark is no part of it and stays where there is one."""

    path: Path
    text: str
    has_mark: bool

    @classmethod
    def read(cls, path: Path) -> EditedFile:
        text = path.read_bytes().decode("utf-8")
        return cls(path, text.removeprefix(MARK), text.startswith(MARK))

    def show_difference(self, after: str, target: Path | None = None) -> None:
        """Print what changes as a unified diff, against the `target` it would be written to."""
        lines = (self.text.splitlines(keepends=True), after.splitlines(keepends=True))
        sys.stdout.writelines(unified_diff(*lines, str(self.path), str(target or self.path)))

    def write(self, after: str, target: Path | None = None) -> None:
        """Write the new text, with the rights of the file it replaces; behind a link: its file."""
        whole = (target or self.path).resolve()
        mode = (whole if whole.exists() else self.path).stat().st_mode
        replace_file(whole, (MARK if self.has_mark else "") + after)
        whole.chmod(mode)
