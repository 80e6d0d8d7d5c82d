"""Name the bottleneck: which of vLLM's three defaults binds, or that none of them does.

Each limit is lifted alone and the workload is evaluated again.  The limit whose absence gains most
is the bottleneck, if it gains at least five per cent.  Bandwidth, arithmetic, collectives and host
time are not ranked against the three (an infinite GPU always wins): where no limit gains, the
dominating one of them is named.
"""

from __future__ import annotations

from functools import partial

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis import evidence
from scheduler_reader.diagnosis.confirmation import Judged, Simulator, sentences
from scheduler_reader.diagnosis.lifts import Evaluate, Lifted, Situation, lifted_limits
from scheduler_reader.diagnosis.objective import (
    WORTH_NAMING,
    Measure,
    capacity_gain,
    goodput_gain,
    is_met,
    tail_gain,
    throughput_gain,
)
from scheduler_reader.diagnosis.verdict import Bottleneck, Confidence, Kind, Lift
from scheduler_reader.performance import estimate_out_of_step
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate, StepShares
from scheduler_reader.performance.step import StepModel
from scheduler_reader.record import Record
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

LESS_SURE: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low"}


def find_bottleneck(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    *,
    evaluate: Evaluate | None = None,
    base: Value[PerformanceEstimate] | None = None,
    step: Value[StepModel] | None = None,
    simulator: Simulator | None = None,
) -> Value[Bottleneck]:
    """The bottleneck under this workload, or why it cannot be told.

    An offered rate above the capacity is `saturated`, unless one limit lifted makes it a load that
    the engine sustains: then that limit is the bottleneck.

    `evaluate` finds the performance of a changed engine: None for the closed form, or a simulator.
    `base` is what it finds for the engine as it is and `step` its step model, where they are known
    already.  With `simulator` the best lift of each default is run, and the gains are those of the runs.
    """
    if plan.starts is False:
        sentences = evidence.does_not_start(engine, plan)
        verdict = Bottleneck("paged_attention", "hbm_capacity", "high", sentences, ())
        return Known(verdict, ORIGIN)
    if evaluate is None:  # a lifted limit changes which steps are made, not what they take
        evaluate = partial(estimate_out_of_step, step=step or build_step_model(engine))
    base = base or evaluate(engine, plan, workload, slo)
    if isinstance(base, Unknown):
        return base
    situation = Situation(engine, plan, workload, slo, base.value, evaluate)
    return Known(_verdict(situation, simulator), ORIGIN)


def _verdict(situation: Situation, simulator: Simulator | None) -> Bottleneck:
    lifted = lifted_limits(situation)
    relieved = tuple(limit for limit in lifted if not limit.estimate.saturated)
    shown = situation if simulator is None else situation._replace(base=simulator.base)
    if situation.base.saturated and shown.base.saturated and not relieved:
        return _saturated(situation, lifted, simulator)
    tried: list[tuple[Judged, ...]] = []
    candidates = _relieving_first(lifted, relieved) if shown.base.saturated else lifted
    for screen in _screens(situation, lifted, simulator):
        gains = _judged(situation, candidates, screen, simulator)
        tried.append(gains)
        found = _largest(
            tuple(one for one in gains if not shown.base.saturated or one.limit in relieved)
        )
        if found is not None:
            return _binding(shown, found, gains, screen.measure, simulator is not None)
    if shown.base.saturated:
        return _saturated(situation, lifted, simulator)
    return _hardware(shown, tried, simulator is not None)


def _saturated(
    situation: Situation, lifted: tuple[Lifted, ...], simulator: Simulator | None
) -> Bottleneck:
    """The verdict where no limit lifted alone makes the offered rate one that is served."""
    gains = _judged(situation, lifted, _Screen(capacity_gain, capacity_gain), simulator)
    shown = situation if simulator is None else situation._replace(base=simulator.base)
    return Bottleneck("none", "saturated", "high", evidence.saturated(shown), _lifts(gains))


def _binding(
    situation: Situation,
    found: Judged,
    gains: tuple[Judged, ...],
    measure: Measure,
    is_run: bool,
) -> Bottleneck:
    """The verdict that names a limit."""
    limit, gain, _ = found
    confidence = _confidence(situation.base, gain.gain)
    if measure is tail_gain:  # tails are the least certain figures of an estimate
        confidence = "medium" if gain.gain >= 1 else "low"
    if any(one.is_refuted for one in gains):
        confidence = LESS_SURE[confidence]
    says = evidence.binding(situation, limit, gain, _lifts(gains))
    says += sentences(gains) if is_run else ()
    return Bottleneck(limit.default, limit.kind, confidence, says, _lifts(gains))


def _hardware(situation: Situation, tried: list[tuple[Judged, ...]], is_run: bool) -> Bottleneck:
    """The verdict where no limit gains: what the time goes into."""
    share, name = _dominating(situation.base.shares)
    kind = KIND_OF_SHARE[name]
    confidence = _confidence(situation.base, share - 0.25)
    refuted = next((gains for gains in tried if any(one.is_refuted for one in gains)), None)
    if refuted is not None:
        confidence = LESS_SURE[confidence]
    gains = refuted or tried[0]
    metric = (
        gains[0].gain.metric if gains else throughput_gain(situation.base, situation.base).metric
    )
    says = evidence.hardware(situation, kind, share, metric)
    says += sentences(gains) if is_run else ()
    return Bottleneck("none", kind, confidence, says, _lifts(gains))


class _Screen(Record):
    """By which gain the closed form picks the lifts, and by which they are judged."""

    by: Measure
    measure: Measure


def _screens(
    situation: Situation, lifted: tuple[Lifted, ...], simulator: Simulator | None
) -> tuple[_Screen, ...]:
    """Goodput where an SLO can be met at all; else throughput, then the latency tails.

    Where only a run meets it, the closed form's latencies and throughput pick the lifts.
    """
    if situation.slo.is_set:
        reached = (situation.base, *(one.estimate for one in lifted))
        if any(map(is_met, reached)):
            return (_Screen(goodput_gain, goodput_gain),)
        if simulator is not None and is_met(simulator.base):
            return (_Screen(tail_gain, goodput_gain), _Screen(throughput_gain, goodput_gain))
    return (_Screen(throughput_gain, throughput_gain), _Screen(tail_gain, tail_gain))


def _judged(
    situation: Situation,
    lifted: tuple[Lifted, ...],
    screen: _Screen,
    simulator: Simulator | None,
) -> tuple[Judged, ...]:
    """The best lift of each default, by runs where there is a simulator."""
    base, load, slo = situation.base, situation.workload, situation.slo
    best = _best_of_each(tuple(Judged(one, screen.by(base, one.estimate)) for one in lifted))
    if simulator is None:
        return best
    return tuple(simulator.confirmed(one, screen.measure, load, slo) for one in best)


def _relieving_first(
    lifted: tuple[Lifted, ...], relieved: tuple[Lifted, ...]
) -> tuple[Lifted, ...]:
    """Lifts with which the offered rate is served; of defaults that have none, the others."""
    defaults = {one.default for one in relieved}
    return tuple(one for one in lifted if one in relieved or one.default not in defaults)


def _best_of_each(gains: tuple[Judged, ...]) -> tuple[Judged, ...]:
    """One a default: of the token budgets the best."""
    best: dict[str, Judged] = {}
    for one in gains:
        default = one.limit.default
        if default not in best or one.gain.gain > best[default].gain.gain:
            best[default] = one
    return tuple(best.values())


def _largest(gains: tuple[Judged, ...]) -> Judged | None:
    """The largest gain worth naming; among equal ones the first in the order of the defaults."""
    top = max((one.gain.gain for one in gains), default=0.0)
    if top < WORTH_NAMING:
        return None
    return next(one for one in gains if one.gain.gain >= top - EQUAL_GAINS)


def _lifts(gains: tuple[Judged, ...]) -> tuple[Lift, ...]:
    return tuple(
        Lift(limit.limit, gain.metric, gain.before, gain.after, gain.gain, limit.sets)
        for limit, gain, _ in gains
    )


def _dominating(shares: StepShares) -> tuple[float, str]:
    return max((getattr(shares, name), name) for name in KIND_OF_SHARE)


def _confidence(base: PerformanceEstimate, margin: float) -> Confidence:
    """A margin is sure when it exceeds what the step model may be wrong by."""
    if margin >= 0.25:
        return "medium" if base.not_modeled else "high"
    return "medium" if margin >= 0.1 and not base.not_modeled else "low"
