"""The report for machines: one JSON document, `schema_version` "1" (docs/report.md).

Keys stand in a fixed order, settings are sorted by name, unknown values are `{"unknown": reason}`,
and a number that is not finite is null: the document is valid JSON for every parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler_reader import __version__
from scheduler_reader.assessment import Assessment
from scheduler_reader.diagnosis.verdict import Bottleneck, TuningStep
from scheduler_reader.privacy import MASK, is_secret_name, secrets
from scheduler_reader.report.figures import capacity, performance
from scheduler_reader.report.places import location
from scheduler_reader.report.plain import dumped, plain
from scheduler_reader.report.report import Report
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding, Suppressed
from scheduler_reader.value import Known, Unknown, Value

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
        "capacity": capacity(assessment.capacity),
        "performance": _or_unknown(
            assessment.performance,
            lambda estimate: {"workload": assessment.workload.as_file(), **performance(estimate)},
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
        "location": location(finding.origin),
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


def _or_unknown(value: Value[Any], content: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {"unknown": value.reason} if isinstance(value, Unknown) else content(value.value)


def _bare(value: Value[Any]) -> Any:
    return value.value if isinstance(value, Known) else value


def _origin_of(value: Value[Any]) -> str | None:
    return None if value.origin is None else str(value.origin)
