"""What to change, in order: each change alone on top of the ones before, predicted anew.

Every candidate is one setting (or the two halves of one decision, such as fewer tensor-parallel
ranks for more replicas).  The engine with that change goes through the capacity plan and the
performance estimate again; the change that gains most comes first.  Changes that trade accuracy
are tried only when nothing else gains, and no change needs another GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.candidates import (
    Change,
    changes,
    lossy_changes,
    named_change,
    starting_changes,
)
from scheduler_reader.diagnosis.lifts import Evaluate
from scheduler_reader.diagnosis.objective import (
    UNCHANGED,
    WORTH_NAMING,
    are_far_apart,
    goodput_gain,
    is_met,
    tail_gain,
    throughput_gain,
)
from scheduler_reader.diagnosis.verdict import OBSERVED, Bottleneck, Kind, TuningStep
from scheduler_reader.knowledge.metrics import metric_name
from scheduler_reader.performance import estimate_out_of_step
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import Slo, Workload

WORTH_CHANGING = 0.03  # the smallest predicted gain that is worth a restart
WORTH_A_RISK = 0.1  # the same for what only moves a tail, or may alter the answers
MOST_STEPS = 3
MOST_RUN = 3  # changes a step, where each has to be predicted as the engine itself is

Plan: TypeAlias = Callable[[ResolvedEngine, Workload], CapacityPlan]

# What the engine gets with settings changed in its file: resolved anew, predicted as it is itself.
Repredict: TypeAlias = Callable[
    [Mapping[str, Any]], tuple[CapacityPlan, Value[PerformanceEstimate]]
]


class _State(Record):
    engine: ResolvedEngine
    plan: CapacityPlan
    estimate: PerformanceEstimate | None


class _Search(Record):
    """The load to tune for, and how a changed engine is planned and evaluated."""

    workload: Workload
    slo: Slo
    evaluate: Evaluate
    plan: Plan

    def state(
        self,
        engine: ResolvedEngine,
        plan: CapacityPlan | None = None,
        estimate: Value[PerformanceEstimate] | None = None,
    ) -> _State:
        plan = plan or self.plan(engine, self.workload)
        if plan.starts is False:
            return _State(engine, plan, None)
        estimate = estimate or self.evaluate(engine, plan, self.workload, self.slo)
        return _State(engine, plan, None if isinstance(estimate, Unknown) else estimate.value)

    def gain(self, before: PerformanceEstimate, after: PerformanceEstimate) -> tuple[bool, float]:
        """(is it goodput or throughput, how much): a tail counts only where those stay.

        A few per cent of throughput are no gain where they cost as much of the worse tail.
        """
        if self.slo.is_set and (is_met(before) or is_met(after)):
            return True, goodput_gain(before, after).gain
        more = throughput_gain(before, after).gain
        tail = tail_gain(before, after).gain
        if abs(more) >= UNCHANGED:
            return True, 0.0 if more < WORTH_NAMING and tail < -WORTH_NAMING else more
        return False, tail if tail >= WORTH_A_RISK else 0.0

    def ranked(
        self, state: _State, among: Iterable[Change], least: float
    ) -> list[tuple[Change, _State]]:
        """The changes that gain more than `least`, the largest first, and the states they lead to."""
        assert state.estimate is not None
        found = []
        for change in among:
            after = self.state(state.engine.with_values(**change.set))
            if after.estimate is None:
                continue
            gain = self.gain(state.estimate, after.estimate)
            if gain[1] > least:
                found.append((gain, change, after))
        found.sort(key=lambda one: one[0], reverse=True)
        return [(change, after) for _, change, after in found]

    def candidates(self, state: _State, observed: Kind | None) -> list[tuple[Change, _State]]:
        """What is worth a restart; changes that trade accuracy only where nothing else is."""
        assert state.estimate is not None
        safe = changes(state.engine, self.workload, state.estimate)
        if observed == "kv_starvation":
            safe = (change for change in safe if "max_num_seqs" not in change.set)
        found = self.ranked(state, safe, WORTH_CHANGING)
        return found or self.ranked(state, lossy_changes(state.engine), WORTH_A_RISK)


def tune(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    *,
    evaluate: Evaluate = estimate_out_of_step,
    base: Value[PerformanceEstimate] | None = None,
    repredict: Repredict | None = None,
    verdict: Value[Bottleneck] | None = None,
) -> tuple[TuningStep, ...]:
    """The ordered changes with their predicted effect; empty where nothing gains or is known.

    `base` is what `evaluate` finds for the engine as it is, where that is known already.  With
    `repredict` the figures are those that it finds, and a step that then gains nothing is not
    promised, nor what comes after it; where none is left, what lifts the limit that the `verdict`
    names is tried instead.

    What was observed rules out: every change where the load does not reach the engine, and more seats
    where KV blocks run out.

    An engine that does not start gets the changes that make it start first, each by itself
    enough, then none: the numbers it gets with them stand in `after`.
    """
    search = _Search(workload, slo, evaluate, plan_capacity)
    state = search.state(engine, plan, base)
    if plan.starts is False:
        alone = _starting(search, state)
        return alone if repredict is None else _promised_alone(alone, repredict)
    observed = _observed_kind(verdict)
    if observed == "not_scheduler":
        return ()
    if repredict is not None and _is_told_otherwise(search, state, repredict):
        named = _named(search, state, verdict, repredict)  # what the verdict judged by runs
        return named or _by_runs(search, state, observed, repredict)
    steps: list[TuningStep] = []
    while state.estimate is not None and len(steps) < MOST_STEPS:
        found = search.candidates(state, observed)
        if not found:
            break
        change, after = found[0]
        steps.append(_step(len(steps) + 1, change, state, after))
        state = after
    if repredict is None:
        return tuple(steps)
    return _promised(search, steps, repredict) or _named(search, state, verdict, repredict)


def _observed_kind(verdict: Value[Bottleneck] | None) -> Kind | None:
    """The kind of a verdict that what was observed decides; None for one that is predicted."""
    if isinstance(verdict, Known) and verdict.origin == OBSERVED:
        return verdict.value.kind
    return None


def _is_told_otherwise(search: _Search, state: _State, repredict: Repredict) -> bool:
    """Whether `evaluate` cannot screen for goodput, as it finds another one than is printed."""
    _, run = repredict({})
    if not search.slo.is_set or state.estimate is None or isinstance(run, Unknown):
        return False
    return are_far_apart(state.estimate.goodput_requests_per_s, run.value.goodput_requests_per_s)


def _by_runs(
    search: _Search, state: _State, observed: Kind | None, repredict: Repredict
) -> tuple[TuningStep, ...]:
    """Screened by throughput and tails, of each step the best few are predicted anew, and the first
    that gains goodput is taken.
    """
    screen = search._replace(slo=Slo())
    kept: list[TuningStep] = []
    changes: dict[str, Any] = {}
    before = repredict(changes)
    while state.estimate is not None and len(kept) < MOST_STEPS:
        for change, following in screen.candidates(state, observed)[:MOST_RUN]:
            after = repredict({**changes, **change.set})
            if isinstance(before[1], Unknown) or isinstance(after[1], Unknown):
                continue
            if search.gain(before[1].value, after[1].value)[1] >= WORTH_CHANGING:
                step = _step(len(kept) + 1, change, state, following)
                kept.append(step._replace(before=_figures(*before), after=_figures(*after)))
                changes |= change.set
                state, before = following, after
                break
        else:
            break
    return tuple(kept)


def _named(
    search: _Search, state: _State, verdict: Value[Bottleneck] | None, repredict: Repredict
) -> tuple[TuningStep, ...]:
    """The one step that lifts what the verdict names, if it gains."""
    change = named_change(verdict.value) if isinstance(verdict, Known) else None
    if change is None:
        return ()
    return _promised(search, [_step(1, change, state, state)], repredict)


def _promised(
    search: _Search, steps: Iterable[TuningStep], repredict: Repredict
) -> tuple[TuningStep, ...]:
    """The steps with the figures that the changed file will have; up to the first without gain."""
    kept: list[TuningStep] = []
    changes: dict[str, Any] = {}
    before = repredict(changes)
    for step in steps:
        changes |= step.set
        after = repredict(changes)
        if isinstance(before[1], Unknown) or isinstance(after[1], Unknown):
            break
        if search.gain(before[1].value, after[1].value)[1] < UNCHANGED:
            break
        kept.append(step._replace(before=_figures(*before), after=_figures(*after)))
        before = after
    return tuple(kept)


def _promised_alone(steps: Iterable[TuningStep], repredict: Repredict) -> tuple[TuningStep, ...]:
    """The same for changes each of which is enough to start."""
    after = [(step, repredict(step.set)) for step in steps]
    kept = [(step, found) for step, found in after if found[0].starts]
    return tuple(
        step._replace(order=order, after=_figures(*found))
        for order, (step, found) in enumerate(kept, 1)
    )


def _starting(search: _Search, state: _State) -> tuple[TuningStep, ...]:
    steps: list[TuningStep] = []
    for change in starting_changes(state.engine, state.plan):
        after = search.state(state.engine.with_values(**change.set))
        if after.plan.starts:
            steps.append(_step(len(steps) + 1, change, state, after))
    return tuple(steps)


def _step(order: int, change: Change, before: _State, after: _State) -> TuningStep:
    return TuningStep(
        order=order,
        set=dict(change.set),
        because=change.because,
        before=_figures(before.plan, before.estimate),
        after=_figures(after.plan, after.estimate),
        watch=metric_name(change.watch, before.engine.release),
    )


def _figures(
    plan: CapacityPlan, found: PerformanceEstimate | Value[PerformanceEstimate] | None
) -> Mapping[str, float]:
    """The numbers a change is judged by, as far as they are known."""
    figures: dict[str, Any] = {
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
    }
    estimate = found.value if isinstance(found, Known) else found
    if isinstance(estimate, PerformanceEstimate):
        figures |= {
            "output_tokens_per_s": estimate.output_tokens_per_s,
            "goodput_requests_per_s": estimate.goodput_requests_per_s,
            "ttft_mean_ms": estimate.ttft_ms.mean,
            "ttft_p99_ms": estimate.ttft_ms.p99,
            "itl_mean_ms": estimate.itl_ms.mean,
            "itl_p99_ms": estimate.itl_ms.p99,
        }
    return {name: float(value) for name, value in figures.items() if value is not None}
