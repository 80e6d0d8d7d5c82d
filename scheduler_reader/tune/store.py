"""Points that were evaluated, in a file: an interrupted search goes on where it was.

One JSON object a line.  A point's key is a digest of everything it depends on: this tool and its
data, the engine as it is resolved, the workload, the objectives and the changes.  So a file may
serve many runs, and a point of another configuration or release is never taken for this one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from scheduler_reader import __version__
from scheduler_reader.data import documents, json_file
from scheduler_reader.errors import UsageError
from scheduler_reader.resolve import resolve
from scheduler_reader.tune.point import Case, Point, Wanted


class Store:
    """Known points by key; with a file, each new one is written to it at once."""

    def __init__(self, known: dict[str, Point], file: IO[str] | None = None) -> None:
        self._known = known
        self._file = file
        self.added = 0  # in this run

    def get(self, key: str) -> Point | None:
        return self._known.get(key)

    def add(self, key: str, point: Point) -> None:
        """Keep a point; its line is complete in the file when this returns."""
        self._known[key] = point
        self.added += 1
        if self._file is not None:
            line = {"key": key, **point._asdict()}
            self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._file.flush()


@contextmanager
def open_store(path: Path | None) -> Iterator[Store]:
    """The store of a file, which is made if it is not there; without one, of this run alone.

    Lines that cannot be read, such as one that was cut off, are passed over.
    """
    if path is None:
        yield Store({})
        return
    try:
        content = path.read_bytes() if path.exists() else b""
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--resume {path}: {error.strerror}") from None
    with file:
        if content and not content.endswith(b"\n"):
            file.write("\n")
        yield Store(_points(content), file)


def _points(content: bytes) -> dict[str, Point]:
    points = {}
    for line in content.splitlines():
        try:
            entry = json.loads(line)
            points[entry["key"]] = Point(entry["figures"], entry["refused"], entry["method"])
        except (ValueError, TypeError, KeyError):
            continue
    return points


def case_digest(case: Case) -> str:
    """What all points of a case depend on."""
    engine = resolve(case.parsed, case.request.target)
    request = case.request
    parts: list[Any] = [__version__, _data_digest(), engine, request.workload, request.slo]
    if case.workload.trace is not None:
        parts.append(hashlib.sha256(Path(case.workload.trace).read_bytes()).hexdigest())
    for folder in request.rule_folders:
        parts += [file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.yaml"))]
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()


def point_key(case_key: str, wanted: Wanted) -> str:
    """The key of one point of a case."""
    return hashlib.sha256(f"{case_key}\0{wanted!r}".encode()).hexdigest()[:32]


@cache
def _data_digest() -> str:
    data = [documents("compat_matrix"), documents("rules"), json_file("flags.json")]
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
