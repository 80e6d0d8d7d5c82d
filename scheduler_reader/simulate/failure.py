"""When the engine itself breaks, or its run is broken off."""

from __future__ import annotations

from scheduler_reader.errors import InputError


class EngineError(InputError):
    """vLLM accepts the options but fails an assertion of its own while it runs this workload."""


class LongRunError(Exception):
    """A run takes more work than it was given."""
