"""The object that grows along the pipeline: one engine with everything the stages say about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.verdict import Bottleneck, TuningStep
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding, NotEvaluated, Suppressed
from scheduler_reader.value import Value
from scheduler_reader.workload import Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.observe.observation import Comparison, Observation


class Judged(Protocol):
    """An engine that rules were evaluated on: what listings of findings draw from."""

    @property
    def engine(self) -> ResolvedEngine: ...
    @property
    def findings(self) -> tuple[Finding, ...]: ...
    @property
    def not_evaluated(self) -> tuple[NotEvaluated, ...]: ...
    @property
    def suppressed(self) -> tuple[Suppressed, ...]: ...
    def _replace(
        self, *, findings: tuple[Finding, ...] = ..., suppressed: tuple[Suppressed, ...] = ...
    ) -> Self: ...


class Checked(Record):
    """One engine and what the rules say about it, without the predictions nobody asked for."""

    engine: ResolvedEngine
    findings: tuple[Finding, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    suppressed: tuple[Suppressed, ...] = ()


class Assessment(Record):
    """One engine, read whole: what every renderer draws from."""

    engine: ResolvedEngine
    workload: Workload
    slo: Slo
    capacity: CapacityPlan
    performance: Value[PerformanceEstimate]
    bottleneck: Value[Bottleneck]
    findings: tuple[Finding, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    tuning: tuple[TuningStep, ...]
    assumptions: tuple[str, ...]
    read_next: str
    measure_next: str
    suppressed: tuple[Suppressed, ...] = ()
    observation: Observation | None = None
    comparison: tuple[Comparison, ...] = ()
