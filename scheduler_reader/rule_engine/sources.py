"""What facts are computed from: the results of the earlier stages for one engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.policy import Policy
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import SuppressionIssue
from scheduler_reader.value import Value
from scheduler_reader.workload import Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.observe.observation import Observation
    from scheduler_reader.performance.step import StepModel


@dataclass(frozen=True)
class Sources:
    """The stages' results, each computed when the first fact asks for it, and only once.

    Few rules look at a prediction, and finding the bottleneck costs more than all other stages
    together.  A stage is given these sources, for the stages before it: one that held them would
    keep them until Python looks for cycles.
    """

    engine: ResolvedEngine
    plan: Callable[[Sources], CapacityPlan]
    estimate: Callable[[Sources], Value[PerformanceEstimate]]
    find_bottleneck: Callable[[Sources], Value[Bottleneck]]
    workload: Workload
    slo: Slo
    observation: Observation | None = None
    policy: Policy = field(default_factory=dict)
    suppression_issues: Sequence[SuppressionIssue] = ()

    @cached_property
    def capacity(self) -> CapacityPlan:
        return self.plan(self)

    @cached_property
    def performance(self) -> Value[PerformanceEstimate]:
        return self.estimate(self)

    @cached_property
    def step(self) -> Value[StepModel]:
        from scheduler_reader.performance.build import build_step_model  # few rules ask for it

        return build_step_model(self.engine)

    @cached_property
    def bottleneck(self) -> Value[Bottleneck]:
        return self.find_bottleneck(self)
