"""Watch a simulated run: a progress bar on a terminal, and an orderly end on Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import TYPE_CHECKING

from scheduler_reader.simulate.arrivals import Arrival, Source
from scheduler_reader.simulate.comparison import TITLES
from scheduler_reader.simulate.modes import Mode

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Watched:
    """A source that counts what is finished, and hands out no more once it is stopped."""

    def __init__(self, source: Source, session: Session, task: TaskID | None) -> None:
        self._source = source
        self._session = session
        self._task = task

    @property
    def next_s(self) -> float:
        return inf if self._session.is_stopped else self._source.next_s

    @property
    def is_exhausted(self) -> bool:
        return self._session.is_stopped or self._source.is_exhausted

    def take(self) -> Arrival:
        return self._source.take()

    def finished(self, time_s: float) -> None:
        self._source.finished(time_s)
        self._session.advance(self._task)


class Session:
    """All runs of one command.  Stopped, each serves what it has taken and ends."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._tasks: dict[Mode, TaskID] = {}
        self.is_stopped = False

    def watch(self, requests: int, mode: Mode, source: Source) -> Source:
        """The source of one mode, with its line in the progress display; a mode may start again."""
        task = self._tasks.get(mode)
        if self._progress is not None:
            if task is None:
                task = self._tasks[mode] = self._progress.add_task(TITLES[mode], total=requests)
            self._progress.reset(task)
        return Watched(source, self, task)

    def advance(self, task: TaskID | None) -> None:
        """One request more is through."""
        if self._progress is not None and task is not None:
            self._progress.advance(task)


@contextmanager
def session() -> Iterator[Session]:
    """A session; the first Ctrl-C stops it, the second one ends the program.

    The bar goes to stderr, and only when that is a terminal.
    """
    import sys

    from rich.console import Console
    from rich.progress import Progress

    is_shown = sys.stderr.isatty()
    progress = Progress(console=Console(stderr=True), transient=True) if is_shown else None
    current = Session(progress)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        current.is_stopped = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        if progress is None:
            yield current
        else:
            with progress:
                yield current
    finally:
        signal.signal(signal.SIGINT, before)
