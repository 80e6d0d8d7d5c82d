"""The stages in order: one parsed engine in, one assessment out, or only what rules find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scheduler_reader.assessment import Assessment, Checked
from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis import find_bottleneck, next_steps, tune
from scheduler_reader.diagnosis.confirmation import Simulator
from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.performance import estimate_performance, expected_performance, is_in_step
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.policy import NO_POLICY, Policy, needs_prediction
from scheduler_reader.record import Record
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine import Facts, Selection, Sources, evaluate, rules_for
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.observe.observation import Comparison, Observation

IN_STEP = (
    "all outputs are of one length, so requests of this closed loop that start together stay "
    "together and wait for each other's prompts: true of a benchmark with fixed lengths; where "
    "they vary TTFT is lower, state a range (--workload)"
)


class Request(Record):
    """What the user states beside the configuration itself.  `workload` None: the default one."""

    target: ResolveOptions = ResolveOptions()
    workload: Workload | None = None
    slo: Slo = Slo()
    rule_folders: Sequence[Path] = ()
    rules: Selection = Selection()
    policy: Policy = NO_POLICY
    observation: Observation | None = None

    def observing(self, observation: Observation | None) -> Request:
        """The same with what was observed; its load is taken where no workload is stated."""
        if observation is None:
            return self
        if self.workload is not None:
            return self._replace(observation=observation)
        from scheduler_reader.observe.observation import observed_workload, workload_note

        workload = observed_workload(observation)
        if workload is not None:
            notes = (*observation.notes, workload_note(observation))
            observation = observation._replace(notes=notes)
        return self._replace(observation=observation, workload=workload)

    def wanted_rules(self, release: Release) -> tuple[CompiledRule, ...]:
        """The rules that hold for a release and are not deselected."""
        return self.rules.of(rules_for(release, self.rule_folders))


def assess(parsed: ParsedEngine, request: Request) -> Assessment:
    """Read one engine whole.  Raises UsageError for wrong options, never for the engine's flags."""
    engine = resolve(parsed, request.target)
    workload = request.workload or DEFAULT_WORKLOAD
    plan = plan_capacity(engine, workload)
    estimate = predicted(engine, plan, request)
    base = _base(estimate) if request.workload is None else None  # of a stated one: by simulation
    bottleneck = find_bottleneck(
        engine, plan, workload, request.slo, base=base, simulator=_simulator(request, estimate)
    )
    comparison: tuple[Comparison, ...] = ()
    if request.observation is not None:
        from scheduler_reader.diagnosis.measured import outranked  # most runs observe nothing
        from scheduler_reader.observe.observation import compared

        known = estimate.value if isinstance(estimate, Known) else None
        comparison = compared(request.observation, plan, known)
        bottleneck = outranked(
            engine, plan, bottleneck, estimate, request.observation, slo=request.slo
        )
    facts = Facts.of(
        engine,
        plan,
        estimate,
        bottleneck,
        workload,
        request.slo,
        observation=request.observation,
        policy=request.policy,
    )
    findings, not_evaluated = evaluate(request.wanted_rules(engine.release), facts)
    following = next_steps(engine, bottleneck)
    return Assessment(
        engine=engine,
        workload=workload,
        slo=request.slo,
        capacity=plan,
        performance=estimate,
        bottleneck=bottleneck,
        findings=findings,
        not_evaluated=not_evaluated,
        tuning=tune(
            engine,
            plan,
            workload,
            request.slo,
            base=base,
            repredict=lambda changes: (
                _changed(engine, changes, request) if changes else (plan, estimate)
            ),
            verdict=bottleneck,
        ),
        assumptions=(
            *engine.assumptions,
            *workload_assumption(request.workload),
            *(request.observation.notes if request.observation else ()),
            *(estimate.value.assumptions if isinstance(estimate, Known) else ()),
        ),
        read_next=following.read,
        measure_next=following.measure,
        observation=request.observation,
        comparison=comparison,
    )


def check(parsed: ParsedEngine, request: Request) -> Checked:
    """The findings of `assess` alone: a stage runs when a rule asks for it.

    Where neither a workload, nor an objective, nor a threshold of latency or throughput is stated,
    nothing is predicted.  Such a threshold is held against the prediction that `assess` makes.
    """
    engine = resolve(parsed, request.target)
    workload = request.workload or DEFAULT_WORKLOAD
    is_judged = needs_prediction(request.policy)
    sources = Sources(
        engine,
        plan=lambda _: plan_capacity(engine, workload),
        estimate=lambda known: (
            predicted(engine, known.capacity, request)
            if is_judged
            else expected_performance(engine, known.capacity, workload, request.slo, known.step)
        ),
        find_bottleneck=lambda known: find_bottleneck(
            engine,
            known.capacity,
            workload,
            request.slo,
            base=None if is_judged else _base(known.performance),
            step=known.step,
        ),
        workload=workload,
        slo=request.slo,
        observation=request.observation,
        policy=request.policy,
    )
    if request.workload is None and request.slo == Slo() and not is_judged:
        sources = replace(sources, estimate=_not_predicted, find_bottleneck=_not_predicted)
    findings, not_evaluated = evaluate(request.wanted_rules(engine.release), Facts(sources))
    return Checked(engine, findings, not_evaluated)


def _base(estimate: Value[PerformanceEstimate]) -> Value[PerformanceEstimate] | None:
    """What limits are lifted of; None where that is not this estimate, as its requests are in step."""
    return None if is_in_step(estimate) else estimate


def predicted(
    engine: ResolvedEngine, plan: CapacityPlan, request: Request, *, is_changed: bool = False
) -> Value[PerformanceEstimate]:
    """A stated workload is simulated, the default one estimated at once.

    Limits are lifted and settings searched in closed form, many at a time; the best are simulated.
    """
    if request.workload is None:
        return estimate_performance(engine, plan, DEFAULT_WORKLOAD, request.slo)
    from scheduler_reader.simulate.estimate import simulated_estimate

    return simulated_estimate(engine, plan, request.workload, request.slo, is_changed=is_changed)


def _simulator(request: Request, estimate: Value[PerformanceEstimate]) -> Simulator | None:
    """What runs lifted limits, where the estimate is of a run itself."""
    if request.workload is None:
        return None
    from scheduler_reader.simulate.estimate import is_simulated, simulated_lift

    if isinstance(estimate, Unknown) or not is_simulated(estimate):
        return None
    return Simulator(estimate.value, simulated_lift)


def _not_predicted(_: Sources) -> Unknown:
    return Unknown("nothing is predicted: neither a workload nor an objective is stated")


def _changed(
    engine: ResolvedEngine, changes: Mapping[str, Any], request: Request
) -> tuple[CapacityPlan, Value[PerformanceEstimate]]:
    """What the engine gets with settings changed in its file."""
    from scheduler_reader.parse.changed_arguments import with_arguments

    table = flag_table(engine.release)
    changed = resolve(with_arguments(engine.parsed, changes, table), request.target)
    plan = plan_capacity(changed, request.workload or DEFAULT_WORKLOAD)
    return plan, predicted(changed, plan, request, is_changed=True)


def workload_assumption(
    stated: Workload | None, requests: int = DEFAULT_WORKLOAD.num_requests
) -> tuple[str, ...]:
    """What is taken for granted where nobody states a workload, or states one length for all outputs.

    `requests` is how many of the assumed workload are run.
    """
    if stated is not None:
        return (IN_STEP,) if stated.keeps_in_step else ()
    return (
        f"workload: closed loop, 64 concurrent, burst start, {requests:,} requests, input 820-1,024 and "
        "output 205-256 tokens, no shared prefix (nobody states one: --workload, --isl, --osl)",
    )
