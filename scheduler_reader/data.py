"""Where `rules/`, `compat_matrix/` and `examples/` lie, and their YAML compiled for speed.

In an installed wheel the folders stand in `scheduler_reader/_data/`; in a checkout (or an
editable install) they stand beside the package.  Parsing hundreds of YAML files costs more than a
whole diagnosis, so the YAML of a folder is compiled into one JSON file: by `tools/hatch_build.py`
when the wheel is built, and here, under `.cache/`, when a file of the checkout has changed.  The
YAML stays the source.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from scheduler_reader.errors import DataError

PACKAGE = Path(__file__).resolve().parent
FOLDERS = ("rules", "compat_matrix")


@cache
def folder(name: str) -> Path:
    """The folder `rules`, `compat_matrix` or `examples`, in the wheel or beside the package."""
    for candidate in (PACKAGE / "_data" / name, PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise DataError(f"{name}/ is missing beside {PACKAGE}; reinstall sched-reader")


@cache
def json_file(path: str) -> Any:
    """A JSON file of `compat_matrix/`, parsed: `json_file("flags.json")`."""
    file = folder("compat_matrix") / path
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: {error}") from error


@cache
def documents(name: str, under: str = "") -> dict[str, Any]:
    """Every YAML document below a data folder: path relative to the folder → content.

    `under` keeps the paths that start with it: `documents("compat_matrix", "gpus/")`.
    """
    return {path: doc for path, doc in _compiled(name).items() if path.startswith(under)}


def with_tuples(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a document as a frozen record holds them: a tuple where YAML has a list."""
    return {
        name: tuple(field) if isinstance(field, list) else field for name, field in document.items()
    }


@cache
def _compiled(name: str) -> dict[str, Any]:
    root = folder(name)
    shipped = root.parent / f"{name}.compiled.json"
    if shipped.is_file():
        compiled: dict[str, Any] = json.loads(shipped.read_bytes())
        return compiled
    cached = root.parent / ".cache" / f"{name}-{_fingerprint(root)}.json"
    try:
        compiled = json.loads(cached.read_bytes())
    except (OSError, ValueError):
        compiled = compile_folder(root)
        _write_cache(cached, compiled)
    return compiled


def yaml_files(root: Path) -> list[Path]:
    """The YAML files below `root`, sorted by path."""
    return sorted(path for path in root.rglob("*.yaml") if path.is_file())


def compile_folder(root: Path) -> dict[str, Any]:
    """Parse every YAML file below `root`; a file that cannot be parsed is a `DataError`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    compiled: dict[str, Any] = {}
    for file in yaml_files(root):
        try:
            compiled[file.relative_to(root).as_posix()] = yaml.load(file.read_bytes(), loader)
        except yaml.YAMLError as error:
            raise DataError(f"{file}: {error}") from error
    return compiled


def _fingerprint(root: Path) -> str:
    """Changes with the name, time or size of any YAML file below `root`."""
    checksum = 0
    for file in _yaml_entries(str(root)):
        stat = file.stat()
        line = f"{file.path}\0{stat.st_mtime_ns}\0{stat.st_size}\n"
        checksum = zlib.crc32(line.encode(), checksum)
    return f"{checksum:08x}"


def _yaml_entries(root: str) -> Iterator[os.DirEntry[str]]:
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _yaml_entries(entry.path)
        elif entry.name.endswith(".yaml"):
            yield entry


def _write_cache(target: Path, compiled: dict[str, Any]) -> None:
    """Replace the cache atomically; a checkout that cannot be written to simply has none."""
    import tempfile

    stem = target.name.rpartition("-")[0]
    try:
        target.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=target.parent, suffix=".tmp", delete=False
        ) as new:
            json.dump(compiled, new)
        Path(new.name).replace(target)
        for old in target.parent.glob(f"{stem}-*.json"):
            if old != target:
                old.unlink(missing_ok=True)
    except OSError:
        return
