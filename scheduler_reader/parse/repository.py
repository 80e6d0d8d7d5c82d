"""The files of a folder that may serve vLLM: a walk that stays in the folder, and a cheap test.

Hardly any file of a repository is about vLLM, so only those whose name could be a configuration's
are read, and only those whose bytes name vLLM or one of its own arguments are parsed.  Symbolic
links are never followed: what they point to is read where it stands, or not at all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from scheduler_reader.data import documents
from scheduler_reader.parse.input_file import MAX_BYTES
from scheduler_reader.record import Record

BINARY_PREFIX_BYTES = 1024


@dataclass(slots=True)
class Walk:
    """The candidates below one folder; `skipped` counts the files that are none."""

    root: str
    skipped: int = 0
    unreadable: list[str] = field(default_factory=list)  # folders and files, each with its reason

    def candidates(self) -> Iterator[tuple[str, bytes]]:
        """Path and content of every file that may serve vLLM, ordered by path."""
        for path in self._files(self.root):
            content = self.candidate(path)
            if content is not None:
                yield path.removeprefix("./"), content

    def candidate(self, path: str) -> bytes | None:
        """The content of a file that may serve vLLM; None, and counted as skipped, otherwise."""
        content = self._content(path) if may_be_configuration(path) else None
        if content is not None and mentions_vllm(content):
            return content
        self.skipped += 1
        return None

    def _files(self, root: str) -> Iterator[str]:
        """Every regular file in the order of the paths; a loop, as folders can nest a thousand deep."""
        pending = [(root, True)]
        while pending:
            path, is_folder = pending.pop()
            if is_folder:
                pending += reversed(self._listed(path))
            else:
                yield path

    def _listed(self, folder: str) -> list[tuple[str, bool]]:
        """Files and folders (True) of a folder by name, without links and other people's folders."""
        try:
            with os.scandir(folder) as listing:
                found = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.unreadable.append(f"{folder}: cannot be listed: {error.strerror}")
            return []
        folders = {entry.name for entry in found if entry.is_dir(follow_symlinks=False)}
        return [
            (entry.path, entry.name in folders)
            for entry in found
            if (entry.name in folders and not _is_passed_over(entry))
            or entry.is_file(follow_symlinks=False)
        ]

    def _content(self, path: str) -> bytes | None:
        """The bytes of a file, or None where it is binary or too large to be a configuration."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                    return None
                content = file.read(status.st_size)
        except OSError as error:
            self.unreadable.append(f"{path}: cannot be read: {error.strerror}")
            return None
        return None if b"\0" in content[:BINARY_PREFIX_BYTES] else content


def may_be_configuration(path: str) -> bool:
    """Whether a file of this name can be one of the forms that are read."""
    name = os.path.basename(path).lower()  # noqa: PTH119 - called for every file of a repository
    stem, dot, suffix = name.rpartition(".")
    return not (dot and stem) or suffix in _known().suffixes or name.startswith(_known().names)


def mentions_vllm(content: bytes) -> bool:
    """Whether bytes name vLLM, or an argument that no other program has."""
    return any(word in content for word in _known().words)


class _Known(Record):
    """`compat_matrix/repository.yaml`, as the walk asks for it."""

    suffixes: frozenset[str]
    names: tuple[str, ...]
    words: tuple[bytes, ...]
    folders: frozenset[str]


@cache
def _known() -> _Known:
    document = documents("compat_matrix", "repository.yaml")["repository.yaml"]
    return _Known(
        suffixes=frozenset(document["suffixes"]),
        names=tuple(document["names"]),
        words=tuple(word.encode() for word in document["words"]),
        folders=frozenset(document["passed_over"]),
    )


def _is_passed_over(folder: os.DirEntry[str]) -> bool:
    """Whether a folder holds other people's files: version control, packages, environments."""
    return folder.name in _known().folders or (Path(folder.path) / "pyvenv.cfg").is_file()
