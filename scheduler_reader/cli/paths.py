"""From files and folders to engines: what was read, what was passed over, what was not understood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.time_limit import time_limit
from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.input_file import decode
from scheduler_reader.parse.repository import Walk
from scheduler_reader.parse.shell_engines import mentions_server
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.report.wording import plural
from scheduler_reader.value import Origin


@dataclass(slots=True)
class Read:
    """The engines in the order of the paths given, and what became of everything else."""

    files: list[ParsedFile] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)  # files of folders, with the reason
    skipped: int = 0

    @property
    def engines(self) -> Iterator[ParsedEngine]:
        return (engine for file in self.files for engine in file.readable)

    def tell(self, found: str) -> None:
        """Say on stderr what was not read and why, and count everything, also what was found."""
        for message in (*self.not_understood, *(bad.message for bad in self.unreadable)):
            tell(message)
        engines = plural(sum(1 for _ in self.engines), "engine")
        counts = [f"{engines} in {plural(len(self.files), 'file')}"]
        if self.skipped:
            counts.append(f"{plural(self.skipped, 'file')} skipped")
        if self.not_understood:
            counts.append(f"{len(self.not_understood):,} not understood")
        tell(f"{', '.join(counts)}: {found}")


def read_paths(
    paths: Sequence[str], command: list[str] | None, *, passes_over: bool = False
) -> Read:
    """Parse the files named, stdin, the command line after `--`, and what folders hold.

    With `passes_over`, named files that serve no vLLM are passed over like those of a folder.
    """
    read = Read()
    named: list[str] = []
    for path in dict.fromkeys(paths):
        if path != "-" and Path(path).is_dir():
            _read_folder(path, read)
        elif path != "-" and passes_over and Path(path).exists():
            _read_named(path, read)
        else:
            named.append(path)
    if named or command is not None or not paths:
        files, unreadable = read_inputs(named, command)
        bad_paths = {bad.path for bad in unreadable}
        read.files += [file for file in files if file.path not in bad_paths]
        read.unreadable += unreadable
    return read


def _read_folder(folder: str, read: Read) -> None:
    walk = Walk(folder)
    _read_candidates(walk, walk.candidates(), read)


def _read_named(path: str, read: Read) -> None:
    walk = Walk(str(Path(path).parent))
    content = walk.candidate(path)
    _read_candidates(walk, [] if content is None else [(path, content)], read)


def _read_candidates(walk: Walk, candidates: Iterable[tuple[str, bytes]], read: Read) -> None:
    for path, content in candidates:
        problem = _read_candidate(path, content, walk.root, read)
        if problem is not None and mentions_server(content.decode(errors="replace")):
            read.not_understood.append(problem)
        elif problem is not None:
            read.skipped += 1
    read.skipped += walk.skipped
    read.unreadable += [Unreadable(walk.root, message) for message in walk.unreadable]


def _read_candidate(path: str, content: bytes, folder: str, read: Read) -> str | None:
    """Add a file's engines to what was read; why there are none otherwise."""
    try:
        with time_limit(path):
            file = parse_text(decode(content, Origin("file", path=path)), path, Path(folder))
    except InputError as error:
        return str(error)
    if file.readable:
        read.files.append(file)
        return None
    return file.why_none_is_readable
