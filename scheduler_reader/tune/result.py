"""What a search found: the ordered changes, the front, what was held back and what was tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_reader.diagnosis.objective import Gain
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.tune.objective import Objective
from scheduler_reader.tune.point import Case, Point


class Step(Record):
    """One change on top of the ones before; `gain` None: only with it does the engine start."""

    order: int
    set: Mapping[str, Any]
    because: str
    watch: str
    gain: Gain | None
    before: Point
    after: Point


class Held(Record):
    """A change that was not made without leave, and what it would do on top of all others.

    `gain` None: only with it would the engine start.
    """

    name: str  # what --allow takes
    set: Mapping[str, Any]
    reason: str
    gain: Gain | None
    after: Point


class Spot(Record):
    """A place on the front."""

    set: Mapping[str, Any]
    point: Point
    is_current: bool
    is_proposed: bool


class Tried(Record):
    """How far the search went.  `refused`: reason → how many combinations."""

    values: Mapping[str, tuple[Any, ...]]  # axis → the values tried
    closed_form: int
    final: int
    refused: Mapping[str, int]
    is_cut_short: bool  # by --budget


@dataclass(frozen=True, slots=True)
class Tuned:
    """One engine, searched.  `before` and `after` are as `diagnose` finds them."""

    case: Case
    engine: ResolvedEngine
    objective: Objective
    notes: tuple[str, ...]
    before: Point
    after: Point
    steps: tuple[Step, ...]
    front: tuple[Spot, ...]
    held_back: tuple[Held, ...]
    tried: Tried

    @property
    def changes(self) -> dict[str, Any]:
        """All changes together."""
        return {name: value for step in self.steps for name, value in step.set.items()}
