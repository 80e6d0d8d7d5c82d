"""One point of the search: an engine with changes, and what the workload gets from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse.changed_arguments import Changes, with_arguments
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.performance import operating_estimate
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.pipeline import Request, predicted
from scheduler_reader.record import Record
from scheduler_reader.resolve import resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine import Facts, Sources, evaluate, rules_for
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.value import Unknown, Value
from scheduler_reader.workload import DEFAULT_WORKLOAD, Workload


class Case(Record):
    """One engine and what is asked of it: what every point of a search has in common."""

    parsed: ParsedEngine
    request: Request
    release: Release

    @property
    def workload(self) -> Workload:
        return self.request.workload or DEFAULT_WORKLOAD


class Wanted(Record):
    """A point to evaluate: at once in closed form, or (`is_final`) as `diagnose` would."""

    changes: tuple[tuple[str, Any], ...]
    is_final: bool = False


class Point(Record):
    """What an engine with some changes gets; `figures` is empty where it does not start.

    `refused` says why: rule codes, or that it does not (surely) fit, or what is not known.
    `method` is how the figures were found.
    """

    figures: Mapping[str, float | None]
    refused: str = ""
    method: str = ""


def changed_engine(case: Case, changes: Changes) -> ResolvedEngine:
    """The engine as its release resolves it with the changes."""
    changed = with_arguments(case.parsed, changes, flag_table(case.release))
    return resolve(changed, case.request.target)


def find_point(case: Case, wanted: Wanted) -> Point:
    """Evaluate one point: what the release refuses, and what does not fit, has no figures."""
    try:
        engine = changed_engine(case, dict(wanted.changes))
    except UsageError as error:
        return Point({}, f"not known: {error}")
    plan = plan_capacity(engine, case.workload)
    refused = refusals(case, engine, plan)
    if refused or plan.starts is False:
        return Point({}, refused or f"does not fit: {plan.reason}")
    if wanted.changes and not plan.starts and plan.num_blocks is not None:
        return Point({}, f"may not fit: {plan.reason}")
    if wanted.is_final:
        estimate = predicted(engine, plan, case.request)
    else:
        estimate = operating_estimate(engine, plan, case.workload, case.request.slo)
    if isinstance(estimate, Unknown):
        return Point({}, f"not known: {estimate.reason}")
    return Point(figures_of(plan, estimate.value), method=_method(estimate))


def refusals(case: Case, engine: ResolvedEngine, plan: CapacityPlan) -> str:
    """The codes of the rules by which the release refuses to start; empty text where none does."""
    sources = Sources(
        engine,
        plan=lambda _: plan,
        estimate=_not_asked,
        find_bottleneck=_not_asked,
        workload=case.workload,
        slo=case.request.slo,
    )
    rules = _refusing(case.release, tuple(case.request.rule_folders))
    findings, _ = evaluate(rules, Facts(sources))
    return ", ".join(dict.fromkeys(finding.code for finding in findings))


def figures_of(plan: CapacityPlan, found: PerformanceEstimate) -> dict[str, float | None]:
    """The numbers that points are compared by; a tail of a saturated load is None."""
    figures: dict[str, float | None] = {
        "output_tokens_per_s": found.output_tokens_per_s,
        "requests_per_s": found.requests_per_s,
        "goodput_requests_per_s": found.goodput_requests_per_s,
        "ttft_mean_ms": found.ttft_ms.mean,
        "ttft_p99_ms": found.ttft_ms.p99,
        "steady_ttft_p99_ms": found.steady_ttft_p99_ms,
        "itl_mean_ms": found.itl_ms.mean,
        "itl_p99_ms": found.itl_ms.p99,
        "tpot_ms": found.tpot_ms,
        "running": found.running,
        "waiting": found.waiting,
        "preemptions_per_request": found.preemptions_per_request,
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
    }
    return {name: None if value is None else float(value) for name, value in figures.items()}


@cache
def _refusing(release: Release, folders: tuple[Path, ...]) -> tuple[CompiledRule, ...]:
    return tuple(rule for rule in rules_for(release, folders) if rule.rule.effect == "refused")


def _not_asked(_: Sources) -> Unknown:
    return Unknown("a refusal does not depend on a prediction")


def _method(estimate: Value[PerformanceEstimate]) -> str:
    is_run = estimate.origin is not None and estimate.origin.detail.startswith("simulated")
    return "simulated" if is_run else "closed form"
