"""The few errors that leave the library; only `cli/` turns them into a message and an exit code."""

from __future__ import annotations

from scheduler_reader.value import Origin


class SchedReaderError(Exception):
    """A user's mistake: one line that says where, what, and what to do.

    `exit_code` is what the command line ends with (DESIGN: 2 wrong usage, 3 unreadable input).
    """

    exit_code = 2

    def __init__(self, message: str, origin: Origin | None = None) -> None:
        self.message = message
        self.origin = origin
        super().__init__(f"{origin.place}: {message}" if origin and origin.place else message)


class UsageError(SchedReaderError):
    """Wrong options or settings of sched-reader itself: exit code 2."""


class InputError(SchedReaderError):
    """A file that cannot be read or understood: exit code 3."""

    exit_code = 3


class DataError(SchedReaderError):
    """A mistake in our own data (`rules/`, `compat_matrix/`) or a user's rule: names file and field."""
