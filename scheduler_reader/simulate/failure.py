"""When the engine itself breaks, or a run of it is broken off."""

from __future__ import annotations

from scheduler_reader.errors import InputError


class EngineError(InputError):
    """vLLM accepts the options but fails an assertion of its own while it runs this workload."""


class LongRunError(Exception):
    """A run takes more work than it was given."""


class NotPlainError(Exception):
    """A decision of this run depends on more than is counted from event to event."""
