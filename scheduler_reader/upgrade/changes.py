"""The differences that an upgrade makes, one type each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scheduler_reader.assessment import Assessment
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.value import Origin, Value

FlagChangeKind = Literal["removed", "retyped", "refused", "ignored", "deprecated", "accepted"]


@dataclass(frozen=True, slots=True)
class FlagChange:
    """An argument that the later release reads otherwise than the earlier one.

    `use` is what to write instead, where that is known.
    """

    kind: FlagChangeKind
    flag: str  # as written
    message: str
    origin: Origin
    use: str | None = None

    @property
    def is_fatal(self) -> bool:
        """Whether the later release exits over it."""
        return self.kind in ("removed", "retyped", "refused")


@dataclass(frozen=True, slots=True)
class Change:
    """A number before and after, in the unit that the name of its metric says."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that runs with another value although the file is the same.

    `effect` is what this one move does in the later release: everything else as there, this
    setting once with its earlier and once with its later value.
    """

    name: str
    before: Value[Any]
    after: Value[Any]
    is_set: bool
    controls: str
    effect: Mapping[str, Change]


@dataclass(frozen=True, slots=True)
class BehaviourChange:
    """Something that the scheduler does otherwise, whatever is configured."""

    name: str
    what: str
    before: Any
    after: Any
    since: str


@dataclass(frozen=True, slots=True)
class NewFlag:
    """An option that the later release has and the earlier one has not."""

    flag: str
    since: str
    why: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One engine read as two releases, and everything that differs."""

    before: Assessment
    after: Assessment
    flags: tuple[FlagChange, ...]
    settings: tuple[SettingChange, ...]
    metrics: Mapping[str, Change]  # those that differ visibly
    new_findings: tuple[Finding, ...]
    gone_findings: tuple[Finding, ...]
    behaviours: tuple[BehaviourChange, ...]
    new_flags: tuple[NewFlag, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the later release refuses what the earlier one took."""
        return any(change.is_fatal for change in self.flags) or any(
            finding.severity == "error" for finding in self.new_findings
        )
