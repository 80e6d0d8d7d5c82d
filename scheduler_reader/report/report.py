"""What every format renders: the engines that were read, and the inputs that could not be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler_reader.assessment import Assessment, Judged
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.rule_engine.finding import Finding

if TYPE_CHECKING:
    from scheduler_reader.simulate.result import SimulationResult
    from scheduler_reader.tune.remedy import Edit


@dataclass(frozen=True)
class Report:
    """`judged` is what is known at once; what costs more is computed when a format asks for it.

    `assess` reads the engines whole; `edit` is the change of a file that a finding's remedy is, or
    None; `run` is the simulated run of an engine's workload, or None where none is made.
    """

    judged: Sequence[Judged]
    unreadable: Sequence[Unreadable] = ()
    assess: Callable[[], Sequence[Assessment]] = tuple
    edit: Callable[[Judged, Finding], Edit | None] = lambda judged, finding: None
    run: Callable[[Assessment], SimulationResult | None] = lambda assessment: None
    root: Path = field(default_factory=Path.cwd)  # what paths are relative to
    docs: Callable[[], str] = str  # where the site of docs/ is published, or an empty text

    @classmethod
    def of(cls, assessments: Sequence[Assessment], unreadable: Sequence[Unreadable] = ()) -> Report:
        """The report of engines that were read whole already."""
        return cls(assessments, unreadable, assess=lambda: assessments)

    @cached_property
    def docs_url(self) -> str:
        """Where the documentation is published; empty where nobody says so."""
        return self.docs()

    @cached_property
    def assessments(self) -> Sequence[Assessment]:
        """The engines, read whole, in the order of `judged`."""
        return self.assess()
