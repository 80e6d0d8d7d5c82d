"""Set-ups of `tests/inputs/bottleneck/set-ups.yaml`: the arithmetic that makes each one known, and the verdict."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known
from scheduler_reader.workload import Slo, read_workload

INPUTS = Path(__file__).parent.parent / "inputs" / "bottleneck" / "set-ups.yaml"
SET_UPS = {one["name"]: one for one in yaml.safe_load(INPUTS.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", SET_UPS)
def test_the_limit_that_binds_by_construction_is_named(served, name):
    set_up = SET_UPS[name]
    workload = read_workload({"prefix_cache_hit_rate": 0, **set_up["load"]}, name)
    engine, plan = served(set_up["serve"], workload, version=set_up["vllm"], gpu=set_up["gpu"])
    _assert_shown(set_up["shows"], set_up["load"], engine, plan)
    found = find_bottleneck(engine, plan, workload, Slo(**set_up.get("slo", {})))
    assert isinstance(found, Known)
    verdict = found.value
    assert [verdict.default, verdict.kind] == set_up["is"], verdict.evidence
    gains = [lift.gain for lift in verdict.lifted]
    if verdict.default != "none":
        assert verdict.kind == "hbm_capacity" or max(gains) >= 0.05


def _assert_shown(
    shows: dict[str, Any], load: dict[str, Any], engine: ResolvedEngine, plan: CapacityPlan
) -> None:
    """The numbers of `shows`, which make the set-up known, hold for the capacity plan."""
    assert plan.starts is shows.get("starts", True), plan.reason
    blocks, block_size = plan.num_blocks or 0, plan.block_size or 0
    kv_tokens = blocks * block_size
    if "demand_tokens" in shows and "concurrency" in load:
        demand = load["concurrency"] * (load["input_tokens"] + load["output_tokens"])
        assert demand == shows["demand_tokens"]
    if "kv_is_at_most" in shows:
        assert kv_tokens <= shows["kv_is_at_most"] * shows["demand_tokens"]
        assert engine.get("max_num_seqs") >= load["concurrency"]
    if "kv_is_at_least" in shows:
        assert kv_tokens >= shows["kv_is_at_least"] * shows["demand_tokens"]
    if "seats" in shows:
        assert engine.get("max_num_seqs") == shows["seats"]
    if "steps_per_prompt" in shows:
        budget = engine.get("max_num_batched_tokens")
        assert ceil(load["input_tokens"] / budget) == shows["steps_per_prompt"]
    if "step_floor_ms" in shows:
        tokens = load["input_tokens"]
        if engine.get("enable_chunked_prefill") is not False:
            tokens = min(tokens, engine.get("max_num_batched_tokens"))
        floor_ms = 1000 * 2 * engine.model.value.parameters * tokens / (989e12)
        assert floor_ms >= shows["step_floor_ms"] > shows["itl_ms"]
    if "offered_tflops" in shows:
        offered = 2 * engine.model.value.parameters * load["rate"] * load["input_tokens"] / 1e12
        assert offered == pytest.approx(shows["offered_tflops"], rel=0.05)
        assert offered > 5 * shows["peak_tflops"]


def test_every_class_is_among_them():
    kinds = {one["is"][1] for one in SET_UPS.values()}
    assert len(SET_UPS) >= 20
    assert kinds >= {"kv_starvation", "hbm_capacity", "admission_stall", "chunk_too_large"}
    assert kinds >= {"chunk_too_small", "prefill_unchunked", "decode_floor", "compute_bound"}
    assert "saturated" in kinds
