"""The report for machines: one JSON document, `schema_version` "1" (docs/report.md).

Keys stand in a fixed order, settings are sorted by name, unknown values are `{"unknown": reason}`,
and a number that is not finite is null: the document is valid JSON for every parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler_reader import __version__
from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan, KvRange, MemoryTerms
from scheduler_reader.diagnosis.verdict import Bottleneck, TuningStep
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.performance.estimate import (
    Latency,
    PerformanceEstimate,
    SpeculationEffect,
)
from scheduler_reader.privacy import MASK, is_secret_name, secrets
from scheduler_reader.report.plain import dumped, plain
from scheduler_reader.report.report import Report
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding, Suppressed
from scheduler_reader.value import Known, Origin, Unknown, Value

SCHEMA_VERSION = "1"


def render(report: Report) -> str:
    """The JSON document of all engines, and of the inputs that could not be read."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "sched-reader", "version": __version__},
        "engines": [_engine(assessment) for assessment in report.assessments],
        "errors": [plain({"path": bad.path, "message": bad.message}) for bad in report.unreadable],
    }
    return dumped(document)


def _engine(assessment: Assessment) -> Any:
    engine = assessment.engine
    hardware = engine.hardware
    content = {
        "source": {
            "path": engine.parsed.origin.path,
            "form": engine.parsed.form,
            "line": engine.parsed.origin.line,
            "name": engine.parsed.name,
        },
        "vllm_version": {
            "value": engine.release.name,
            "origin": str(engine.release_origin),
        },
        "hardware": {
            "gpu": hardware.gpu.name,
            "count": hardware.count,
            "memory_gib": hardware.gpu.memory_gib,
            "origin": str(hardware.origin),
        },
        "model": _model(engine),
        "settings": _settings(engine),
        "capacity": _capacity(assessment.capacity),
        "performance": _or_unknown(
            assessment.performance,
            lambda estimate: {"workload": assessment.workload.as_file(), **_performance(estimate)},
        ),
        "observed": _observed(assessment),
        "comparison": [{**one._asdict(), "ratio": one.ratio} for one in assessment.comparison],
        "bottleneck": _or_unknown(assessment.bottleneck, _bottleneck),
        "findings": [_finding(finding) for finding in assessment.findings],
        "suppressed": [_suppressed(one) for one in assessment.suppressed],
        "tuning": [_tuning(step) for step in assessment.tuning],
        "not_evaluated": [
            {"code": rule.code, "missing": rule.missing} for rule in assessment.not_evaluated
        ],
        "assumptions": list(dict.fromkeys((*engine.assumptions, *assessment.assumptions))),
        "read_next": {"text": assessment.read_next},
        "measure_next": {"text": assessment.measure_next},
    }
    return plain(content, secrets(engine))


def _observed(assessment: Assessment) -> dict[str, Any] | None:
    observation = assessment.observation
    if observation is None:
        return None
    from scheduler_reader.observe.failed_start import foreseen_by  # not where nothing is observed

    log = observation.log
    failure = None if log is None else log.failure
    codes = (finding.code for finding in assessment.findings)
    return {
        "sources": list(observation.sources),
        "measures": {
            name: {"value": value.value, "origin": str(value.origin)}
            for name, value in observation.measures.items()
            if isinstance(value, Known)
        },
        "missing": list(observation.missing),
        "cache_config": dict(observation.cache_config),
        "vllm_version": None if log is None else _bare(log.version),
        "failure": failure
        and {**failure._asdict(), "foreseen_by": list(foreseen_by(failure, codes))},
        "not_known": list(observation.unread),
    }


def _model(engine: ResolvedEngine) -> dict[str, Any]:
    if isinstance(engine.model_id, Unknown):
        return {"unknown": engine.model_id.reason}
    content: dict[str, Any] = {
        "id": engine.model_id.value,
        "origin": str(engine.model_id.origin),
    }
    if isinstance(engine.model, Unknown):
        return {**content, "unknown": engine.model.reason}
    facts = engine.model.value
    return {**content, "parameters": facts.parameters, "weight_bytes": facts.weight_bytes}


def _settings(engine: ResolvedEngine) -> dict[str, Any]:
    return {
        name: {
            "value": MASK if is_secret_name(name) and setting.is_set else _bare(setting.value),
            "origin": _origin_of(setting.value),
            "is_set": setting.is_set,
            "default": setting.default,
            "controls": setting.controls,
        }
        for name, setting in sorted(engine.settings.items())
    }


def _capacity(plan: CapacityPlan) -> dict[str, Any]:
    return {
        "starts": plan.starts,
        "reason": plan.reason,
        **_memory_gib(plan.memory),
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "block_size": plan.block_size,
        "num_blocks": plan.num_blocks,
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
        "largest_max_model_len": plan.largest_max_model_len,
        "workload_concurrency": plan.workload_concurrency,
        "low": plan.low and _kv_range(plan.low),
        "high": plan.high and _kv_range(plan.high),
        "remedies": [
            {
                "set": remedy.changes,
                "largest_max_model_len": remedy.largest_max_model_len,
            }
            for remedy in plan.remedies
        ],
    }


def _memory_gib(memory: MemoryTerms | None) -> dict[str, float | None]:
    terms = {
        "total_gib": "total",
        "budget_gib": "budget",
        "weights_gib": "weights",
        "activation_gib": "activation",
        "cuda_graph_gib": "cuda_graphs",
        "non_torch_gib": "non_torch",
        "other_processes_gib": "others",
        "kv_cache_gib": "kv_cache",
    }
    return {
        name: None if memory is None else getattr(memory, term) / GIB
        for name, term in terms.items()
    }


def _kv_range(end: KvRange) -> dict[str, Any]:
    return {
        "kv_cache_gib": end.kv_cache_bytes / GIB,
        "num_blocks": end.num_blocks,
        "kv_cache_tokens": end.kv_cache_tokens,
    }


def _performance(estimate: PerformanceEstimate) -> dict[str, Any]:
    return {
        "ttft_ms": _latency(estimate.ttft_ms),
        "itl_ms": _latency(estimate.itl_ms),
        "tpot_ms": estimate.tpot_ms,
        "output_tokens_per_s": estimate.output_tokens_per_s,
        "total_tokens_per_s": estimate.total_tokens_per_s,
        "requests_per_s": estimate.requests_per_s,
        "goodput_requests_per_s": estimate.goodput_requests_per_s,
        "saturated": estimate.saturated,
        "capacity_requests_per_s": estimate.capacity_requests_per_s,
        "queue_growth_per_s": estimate.queue_growth_per_s,
        "running": estimate.running,
        "waiting": estimate.waiting,
        "preemptions_per_request": estimate.preemptions_per_request,
        "floor": {"itl_ms": estimate.floor.itl_ms, "bound": estimate.floor.bound},
        "shares": {
            "memory": estimate.shares.memory,
            "compute": estimate.shares.compute,
            "communication": estimate.shares.communication,
            "host": estimate.shares.host,
        },
        "speculation": estimate.speculation and _speculation(estimate.speculation),
        "low": estimate.low and _end(estimate.low),
        "high": estimate.high and _end(estimate.high),
        "not_modeled": list(estimate.not_modeled),
    }


def _speculation(effect: SpeculationEffect) -> dict[str, Any]:
    low, best, high = effect.acceptance_length
    return {
        "method": effect.method,
        "drafts": effect.drafts,
        "acceptance_length": {"low": low, "best": best, "high": high},
        "is_stated": effect.is_stated,
        "speedup": effect.speedup,
        "break_even_concurrency": effect.break_even_concurrency,
    }


def _end(estimate: PerformanceEstimate) -> dict[str, Any]:
    """One end of the range: the measures, without what the best estimate already says."""
    content = _performance(estimate)
    for name in ("low", "high", "not_modeled", "speculation"):
        del content[name]
    return content


def _latency(latency: Latency) -> dict[str, float | None]:
    return {"mean": latency.mean, "p50": latency.p50, "p99": latency.p99}


def _bottleneck(bottleneck: Bottleneck) -> dict[str, Any]:
    return {
        "default": bottleneck.default,
        "kind": bottleneck.kind,
        "confidence": bottleneck.confidence,
        "evidence": list(bottleneck.evidence),
        "lifted": [
            {
                "limit": lift.limit,
                "metric": lift.metric,
                "before": lift.before,
                "after": lift.after,
                "gain": lift.gain,
            }
            for lift in bottleneck.lifted
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "effect": finding.effect,
        "message": finding.message,
        "why": finding.why,
        "location": _location(finding.origin),
        "fix": {"set": dict(finding.fix), "text": finding.fix_text},
        "predicted": finding.predicted,
        "source": finding.source,
    }


def _suppressed(one: Suppressed) -> dict[str, Any]:
    """A finding that does not count, with who accepted it."""
    suppression = one.suppression
    return {
        **_finding(one.finding),
        "suppression": {
            "kind": suppression.kind,
            "reason": suppression.reason,
            "origin": suppression.origin.place,
            "expires": suppression.expires and suppression.expires.isoformat(),
        },
    }


def _tuning(step: TuningStep) -> dict[str, Any]:
    return {
        "order": step.order,
        "set": dict(step.set),
        "because": step.because,
        "predicted": {"before": dict(step.before), "after": dict(step.after)},
        "watch": step.watch,
    }


def _location(origin: Origin | None) -> dict[str, Any] | None:
    if origin is None or origin.path is None:
        return None
    return {"path": origin.path, "line": origin.line, "column": origin.column}


def _or_unknown(value: Value[Any], content: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {"unknown": value.reason} if isinstance(value, Unknown) else content(value.value)


def _bare(value: Value[Any]) -> Any:
    return value.value if isinstance(value, Known) else value


def _origin_of(value: Value[Any]) -> str | None:
    return None if value.origin is None else str(value.origin)
