"""Places as CI systems need them: paths relative to the repository, with `/`."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Any

from scheduler_reader.parse.input_file import STDIN
from scheduler_reader.privacy import mask, printable
from scheduler_reader.record import Record
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.value import Origin

NO_FILES = (STDIN, "<command line>")


class Place(Record):
    """`path` is as it was given where it is no file: `<stdin>`, the command line."""

    path: str
    line: int | None = None
    column: int | None = None
    is_file: bool = True

    def __str__(self) -> str:
        """`serve.yaml:4:3`, as far as it is known."""
        return ":".join(str(part) for part in self[:3] if part is not None)


def repository_root(folder: Path) -> Path:
    """The nearest folder upwards with a `.git`, else `folder` itself."""
    return next(
        (each for each in (folder, *folder.parents) if (each / ".git").exists()),
        folder,
    )


def place_of(origin: Origin, root: Path) -> Place:
    """The place of an origin as it is seen from `root`; no character of it is a control."""
    if origin.path is None:
        return Place(printable(mask(str(origin))), is_file=False)
    if origin.path in NO_FILES:
        return Place(origin.path, origin.line, origin.column, is_file=False)
    return Place(printable(mask(relative(origin.path, root))), origin.line, origin.column)


def place_of_unreadable(bad: Unreadable, root: Path) -> Place:
    """The place of an input that could not be read, as far as its path says it."""
    return place_of(Origin("file", path=bad.path), root)


def location(origin: Origin | None) -> dict[str, Any] | None:
    """The place of an origin for JSON, as the path was given; None where it is in no file."""
    if origin is None or origin.path is None:
        return None
    return {"path": origin.path, "line": origin.line, "column": origin.column}


def relative(path: str, root: Path) -> str:
    """A path, relative to the working folder or absolute, as it is seen from `root`.

    No link is followed: the file is called as the user calls it.
    """
    return Path(os.path.relpath(path, root)).as_posix()
