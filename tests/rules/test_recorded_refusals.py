"""`refused` is what vLLM's own configuration code refuses, on recorded command lines."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine import Facts, evaluate, rules_for
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

RELEASES = ("0.8.5", "0.10.2", "0.14.1", "0.20.2", "0.28.0", "0.33.0")
# What stopped the recorder itself: a class that only its copy of transformers did not know.
RECORDER = ("inspected", "not recognize this architecture")


@pytest.mark.parametrize("release", RELEASES)
def test_refusals_are_vllms_own(release: str, shared: Path, tmp_path: Path) -> None:
    models = runpy.run_path(str(shared / "oracle" / "model_shapes.py"))["MODELS"]
    for name, config in models.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    rows = json.loads((shared / "oracle" / "resolved" / f"{release}.json").read_text())["rows"]
    wrong = [difference for row in rows if (difference := _difference(row, release, tmp_path))]
    assert not wrong


def _difference(row: dict[str, Any], release: str, models: Path) -> str | None:
    error = row.get("error", {}).get("message", "")
    if any(words in error for words in RECORDER):
        return None
    refusals = _refusals(row, release, models)
    if bool(refusals) is bool(error):
        return None
    return f"{row['name']}: {refusals or 'nothing found'}, recorded {error[-120:] or 'a start'}"


def _refusals(row: dict[str, Any], release: str, models: Path) -> list[str]:
    """Codes of the refusals, without those of memory, which the recorder had none of."""
    words = [f"{name}={value}" for name, value in row["env"].items()]
    words += ["vllm", "serve", f"/models/{row['model']}", *row["args"]]
    engine = resolve(
        parse_command(words).engines[0],
        ResolveOptions(
            vllm_version=release,
            gpu=row["gpu"],
            gpu_count=8,
            offline=row["context"] == "offline",
            model_config=models / row["model"],
        ),
    )
    nothing = Unknown("not part of this test")
    plan = CapacityPlan(None, nothing.reason)
    facts = Facts.of(engine, plan, nothing, nothing, DEFAULT_WORKLOAD, Slo())
    findings, _ = evaluate(rules_for(engine.release), facts)
    return [finding.code for finding in findings if finding.effect == "refused"]
