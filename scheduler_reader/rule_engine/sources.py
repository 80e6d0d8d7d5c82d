"""What facts are computed from: the results of the earlier stages for one engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnose.verdict import Bottleneck
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Value
from scheduler_reader.workload import Slo, Workload


@dataclass(frozen=True, slots=True)
class Sources:
    """The stages' results.  `observed` maps names of `known_facts.observed` to measured values."""

    engine: ResolvedEngine
    capacity: CapacityPlan
    performance: Value[PerformanceEstimate]
    bottleneck: Value[Bottleneck]
    workload: Workload
    slo: Slo
    observed: Mapping[str, float] = field(default_factory=dict)
