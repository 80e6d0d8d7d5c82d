"""Where a settings file may stand; cheap, since every run looks, and most find none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

FILE = "sched-reader.toml"
PROJECT_FILE = "pyproject.toml"


def candidates(start: Path) -> Iterator[Path]:
    """The files that may hold settings for what lies in the folder `start`, the nearest first.

    A repository's root is the last folder looked into; a file that is a link is passed over.
    """
    first = start.absolute()
    for folder in (first, *first.parents):
        for path in (folder / FILE, folder / PROJECT_FILE):
            if path.is_file() and not path.is_symlink():
                yield path
        if (folder / ".git").exists():
            return


def may_exist(start: Path) -> bool:
    """Whether it is worth reading the candidates: a project file often says nothing about us."""
    return any(path.name == FILE or _mentions_us(path) for path in candidates(start))


def _mentions_us(path: Path) -> bool:
    try:
        return b"[tool.sched-reader" in path.read_bytes()
    except OSError:
        return True  # whoever reads it says why it cannot
