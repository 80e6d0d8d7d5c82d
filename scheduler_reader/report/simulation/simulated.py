"""One engine's simulation as every format gets it."""

from __future__ import annotations

from scheduler_reader.record import Record
from scheduler_reader.simulate.study import Study


class Simulated(Record):
    """What was run, on which engine, and what was assumed for it.

    `study` is None where nothing could be simulated, for the `reason`.
    """

    title: str
    assumptions: tuple[str, ...]
    study: Study | None
    reason: str = ""
