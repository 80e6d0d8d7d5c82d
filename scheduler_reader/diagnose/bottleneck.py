"""Name the bottleneck: which of vLLM's three defaults binds, or that none of them does.

Each limit is lifted alone and the workload is evaluated again.  The limit whose absence gains most
is the bottleneck, if it gains at least five per cent.  Bandwidth, arithmetic, collectives and host
time are not ranked against the three (an infinite GPU always wins): where no limit gains, the
dominating one of them is named.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnose import evidence
from scheduler_reader.diagnose.lifts import Evaluate, Lifted, Situation, lifted_limits
from scheduler_reader.diagnose.objective import (
    WORTH_NAMING,
    Gain,
    capacity_gain,
    goodput_gain,
    tail_gain,
    throughput_gain,
)
from scheduler_reader.diagnose.verdict import Bottleneck, Kind, Lift
from scheduler_reader.performance import operating_estimate
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate, StepShares
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import Slo, Workload

ORIGIN = Origin("derived", "each limit lifted alone")
EQUAL_GAINS = 0.01  # within this the order of the three defaults decides
KIND_OF_SHARE: dict[str, Kind] = {
    "memory": "decode_floor",
    "compute": "compute_bound",
    "communication": "communication_bound",
    "host": "host_bound",
}

Measure = Callable[[PerformanceEstimate, PerformanceEstimate], Gain]
Confidence = Literal["high", "medium", "low"]


def find_bottleneck(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    *,
    evaluate: Evaluate | None = None,
    base: Value[PerformanceEstimate] | None = None,
) -> Value[Bottleneck]:
    """The bottleneck under this workload, or why it cannot be told.

    An offered rate above the capacity is `saturated`, unless one limit lifted makes it a load that
    the engine sustains: then that limit is the bottleneck.

    `evaluate` finds the performance of a changed engine: None for the closed form, or a simulator.
    `base` is what it finds for the engine as it is, where that is known already.
    """
    if plan.starts is False:
        sentences = evidence.does_not_start(engine, plan)
        verdict = Bottleneck("paged_attention", "hbm_capacity", "high", sentences, ())
        return Known(verdict, ORIGIN)
    if evaluate is None:  # a lifted limit changes which steps are made, not what they take
        evaluate = partial(operating_estimate, step=build_step_model(engine))
    base = base or evaluate(engine, plan, workload, slo)
    if isinstance(base, Unknown):
        return base
    situation = Situation(engine, plan, workload, slo, base.value, evaluate)
    return Known(_verdict(situation), ORIGIN)


def _verdict(situation: Situation) -> Bottleneck:
    lifted = lifted_limits(situation)
    relieved = tuple(limit for limit in lifted if not limit.estimate.saturated)
    if situation.base.saturated and not relieved:
        gains = _gains(lifted, situation.base, capacity_gain)
        sentences = evidence.saturated(situation)
        return Bottleneck("none", "saturated", "high", sentences, _best_of_each(gains))
    for measure in _measures(situation, lifted):
        gains = _gains(lifted, situation.base, measure)
        found = _largest(gains)
        if found is not None:
            limit, gain = found
            sentences = evidence.binding(situation, limit, gain, _best_of_each(gains))
            confidence = _confidence(situation.base, gain.gain)
            if measure is tail_gain:  # tails are the least certain figures of an estimate
                confidence = "medium" if gain.gain >= 1 else "low"
            return Bottleneck(
                limit.default, limit.kind, confidence, sentences, _best_of_each(gains)
            )
    share, name = _dominating(situation.base.shares)
    kind = KIND_OF_SHARE[name]
    gains = _gains(lifted, situation.base, _measures(situation, lifted)[0])
    sentences = evidence.hardware(situation, kind, share)
    confidence = _confidence(situation.base, share - 0.25)
    return Bottleneck("none", kind, confidence, sentences, _best_of_each(gains))


def _measures(situation: Situation, lifted: tuple[Lifted, ...]) -> tuple[Measure, ...]:
    """Goodput where an SLO can be met at all; else throughput, then the latency tails."""
    reachable = any(one.estimate.goodput_requests_per_s > 0 for one in lifted)
    if situation.slo.is_set and (reachable or situation.base.goodput_requests_per_s > 0):
        return (goodput_gain,)
    return (throughput_gain, tail_gain)


_Gains = list[tuple[Lifted, Gain]]


def _gains(lifted: tuple[Lifted, ...], base: PerformanceEstimate, measure: Measure) -> _Gains:
    return [(limit, measure(base, limit.estimate)) for limit in lifted]


def _largest(gains: _Gains) -> tuple[Lifted, Gain] | None:
    """The largest gain worth naming; among equal ones the first in the order of the defaults."""
    top = max((gain.gain for _, gain in gains), default=0.0)
    if top < WORTH_NAMING:
        return None
    first = next(limit for limit, gain in gains if gain.gain >= top - EQUAL_GAINS)
    same_kind = [(limit, gain) for limit, gain in gains if limit.default == first.default]
    return max(same_kind, key=lambda found: found[1].gain)


def _best_of_each(gains: _Gains) -> tuple[Lift, ...]:
    """One line a default: of the token budgets the best."""
    best: dict[str, tuple[Lifted, Gain]] = {}
    for limit, gain in gains:
        if limit.default not in best or gain.gain > best[limit.default][1].gain:
            best[limit.default] = (limit, gain)
    return tuple(
        Lift(limit.limit, gain.metric, gain.before, gain.after, gain.gain)
        for limit, gain in best.values()
    )


def _dominating(shares: StepShares) -> tuple[float, str]:
    return max((getattr(shares, name), name) for name in KIND_OF_SHARE)


def _confidence(base: PerformanceEstimate, margin: float) -> Confidence:
    """A margin is sure when it exceeds what the step model may be wrong by."""
    if margin >= 0.25:
        return "medium" if base.not_modeled else "high"
    return "medium" if margin >= 0.1 and not base.not_modeled else "low"
