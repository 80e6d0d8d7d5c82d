"""An end to an input that takes too long, whatever makes it so."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from scheduler_reader.errors import InputError
from scheduler_reader.value import Origin

CPU_SECONDS = 10.0  # a hundred times what the largest configuration takes to read


@contextmanager
def time_limit(path: str, cpu_seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raise `InputError` in the block when it has used that much processor time.

    Where there are no such timers (Windows, WebAssembly, a thread that is not the main one) it may
    run on.
    """

    def give_up(signum: int, frame: FrameType | None) -> None:
        message = f"took longer than {cpu_seconds:g} s to read; no serving configuration does"
        raise InputError(message, Origin("file", path=path))

    try:
        timer, processor_time = signal.setitimer, signal.ITIMER_VIRTUAL
        before = signal.signal(signal.SIGVTALRM, give_up)
    except (AttributeError, ValueError):
        yield
        return
    timer(processor_time, cpu_seconds)
    try:
        yield
    finally:
        timer(processor_time, 0)
        signal.signal(signal.SIGVTALRM, before)
