"""The study for machines: every mode's metrics, in the units their names end with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.report.simulation.simulated import Simulated
from scheduler_reader.simulate.modes import ModeRun

SCHEMA_VERSION = "1"


def render(engines: Sequence[Simulated]) -> str:
    """All engines; one that was not simulated has the reason instead."""
    document = {"schema_version": SCHEMA_VERSION, "engines": [_engine(each) for each in engines]}
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _engine(simulated: Simulated) -> dict[str, Any]:
    study = simulated.study
    if study is None:
        return {"engine": simulated.title, "unknown": simulated.reason}
    setup = study.setup
    return {
        "engine": simulated.title,
        "vllm_version": setup.release.name,
        "workload": setup.workload.as_file(),
        "replicas": setup.replicas,
        "scheduler": asdict(setup.config),
        "modes": {run.mode.value: _mode(run) for run in study.runs},
        "gaps": list(study.sentences),
        "notes": list(study.notes),
        "assumptions": list(simulated.assumptions),
        "interrupted": study.is_interrupted,
    }


def _mode(run: ModeRun) -> dict[str, Any]:
    return {
        **{field.name: _plain(getattr(run.metrics, field.name)) for field in fields(run.metrics)},
        "padding_waste": run.padding_waste,
        "steps": run.result.steps,
        "prefill_s": run.prefill_s,
        "decode_s": run.decode_s,
        "decode_seqs": run.decode_seqs,
        "unfinished_requests": list(run.result.unfinished),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Latency):
        return {"mean": value.mean, "p50": value.p50, "p99": value.p99}
    return value
