"""`tune --format json`: everything the search says, for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_reader import __version__
from scheduler_reader.diagnosis.objective import Gain
from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse.changed_arguments import option_words, whole_values
from scheduler_reader.privacy import secrets
from scheduler_reader.report.plain import plain
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.tune.point import Point
from scheduler_reader.tune.result import Held, Spot, Step, Tuned
from scheduler_reader.value import Unknown

SCHEMA_VERSION = "1"

# What could not be written into its file, by the number of the engine.
Left = Mapping[int, Sequence[tuple[Mapping[str, Any], str]]]


def render(
    results: Sequence[Tuned], unreadable: Sequence[Unreadable] = (), left: Left | None = None
) -> str:
    """The JSON document of all engines, of what could not be written, and of unreadable inputs."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "sched-reader", "version": __version__},
        "engines": [
            plain(_engine(tuned, (left or {}).get(i, ())), secrets(tuned.engine))
            for i, tuned in enumerate(results)
        ],
        "errors": [plain({"path": bad.path, "message": bad.message}) for bad in unreadable],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def arguments(tuned: Tuned) -> list[str]:
    """All changes as words of that release's command line."""
    table = flag_table(tuned.case.release)
    values = whole_values(tuned.case.parsed, tuned.changes, table)
    return [word for name, value in values.items() for word in option_words(name, value, table)]


def _engine(tuned: Tuned, left: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, Any]:
    engine, origin = tuned.engine, tuned.engine.parsed.origin
    slo = tuned.case.request.slo
    model = engine.model_id
    return {
        "source": {
            "path": origin.path,
            "form": engine.parsed.form,
            "line": origin.line,
            "name": engine.parsed.name,
        },
        "vllm_version": engine.release.name,
        "hardware": {"gpu": engine.hardware.gpu.name, "count": engine.hardware.count},
        "model": {"unknown": model.reason} if isinstance(model, Unknown) else model.value,
        "workload": tuned.case.workload.as_file(),
        "slo": {"ttft_ms": slo.ttft_ms, "itl_ms": slo.itl_ms, "tpot_ms": slo.tpot_ms},
        "objective": tuned.objective.aim.value,
        "notes": list(tuned.notes),
        "before": _point(tuned.before),
        "after": _point(tuned.after),
        "steps": [_step(step) for step in tuned.steps],
        "set": tuned.changes,
        "arguments": arguments(tuned),
        "not_written": [{"set": dict(change), "reason": reason} for change, reason in left],
        "front": [_spot(spot) for spot in tuned.front],
        "held_back": [_held(held) for held in tuned.held_back],
        "tried": {
            "values": {name: list(values) for name, values in tuned.tried.values.items()},
            "closed_form": tuned.tried.closed_form,
            "final": tuned.tried.final,
            "refused": tuned.tried.refused,
            "cut_short": tuned.tried.is_cut_short,
        },
        "assumptions": list(dict.fromkeys(engine.assumptions)),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "starts": bool(point.figures),
        "reason": point.refused,
        "method": point.method or None,
        "figures": dict(point.figures),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "order": step.order,
        "set": dict(step.set),
        "because": step.because,
        "watch": step.watch,
        "gain": _gain(step.gain),
        "predicted": {"before": dict(step.before.figures), "after": dict(step.after.figures)},
        "method": step.after.method,
    }


def _spot(spot: Spot) -> dict[str, Any]:
    return {
        "set": dict(spot.set),
        "figures": dict(spot.point.figures),
        "method": spot.point.method,
        "is_current": spot.is_current,
        "is_proposed": spot.is_proposed,
    }


def _held(held: Held) -> dict[str, Any]:
    return {
        "allow": held.name,
        "set": dict(held.set),
        "reason": held.reason,
        "gain": _gain(held.gain),
        "predicted": _point(held.after),
    }


def _gain(gain: Gain | None) -> dict[str, Any] | None:
    return None if gain is None else gain._asdict()
