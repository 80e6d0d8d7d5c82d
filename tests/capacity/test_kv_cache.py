"""KV groups and blocks: hand-worked cases, and what vLLM's own planner answered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from capacity_inputs import LLAMA_8B, LLAMA_70B, inputs_of

from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.kv_cache import KvGroup, KvLayout, cut_groups, layout
from scheduler_reader.capacity.stages import stages
from scheduler_reader.knowledge.models import LayerKind
from scheduler_reader.knowledge.versions import Release

RECORDED = ("0.8.5", "0.10.2", "0.14.1", "0.18.0", "0.20.2", "0.24.0", "0.28.0", "0.31.0", "0.33.0")
KINDS: dict[str, LayerKind] = {
    "full": "full",
    "mla": "full",
    "window": "sliding",
    "local": "chunked",
}


def only_layout(**changes: Any) -> KvLayout:
    model = changes.pop("model", LLAMA_70B)
    inputs = inputs_of(model, **changes)
    return layout(inputs, stages(model.layers, inputs.pipeline_parallel)[0])


def test_70b_needs_320_kib_a_token() -> None:
    assert only_layout().bytes_per_token == 2 * 80 * 8 * 128 * 2 == 327_680


@pytest.mark.parametrize(
    ("changes", "kib"),
    [
        ({"kv_dtype": "fp8"}, 160),
        ({"tensor_parallel": 4}, 80),
        ({"tensor_parallel": 8}, 40),
        ({"tensor_parallel": 16}, 40),  # eight KV heads on sixteen ranks: replicated
        ({"pipeline_parallel": 2}, 160),
        ({"tensor_parallel": 2, "pipeline_parallel": 2}, 80),
    ],
)
def test_70b_bytes_per_token_on_a_rank(changes: dict[str, Any], kib: int) -> None:
    assert only_layout(**changes).bytes_per_token == kib * 1024


def test_multi_query_attention_has_one_head_on_every_rank() -> None:
    model = replace(LLAMA_8B, kv_heads=1)
    assert only_layout(model=model, tensor_parallel=4).bytes_per_token == 2 * 32 * 128 * 2


def test_mla_keeps_a_latent_on_every_rank() -> None:
    model = replace(LLAMA_8B, layers=61, kv_lora_rank=512, qk_rope_head_dim=64)
    for ranks in (1, 8):
        assert only_layout(model=model, tensor_parallel=ranks).bytes_per_token == 61 * 576 * 2
    assert only_layout(model=model, kv_dtype="fp8_ds_mla").bytes_per_token == 61 * 656


def test_full_attention_rounds_up_to_blocks() -> None:
    group = KvGroup("full", layers=32, block_size=16)
    assert [group.blocks(length) for length in (1, 16, 17, 8192)] == [1, 1, 2, 512]


def test_a_window_keeps_one_block_more_and_the_budget() -> None:
    group = KvGroup("sliding", layers=32, block_size=16, window=4096, in_flight_tokens=8192)
    assert group.blocks(32768) == 769  # ceil((4096 - 1 + 8192) / 16) + 1
    assert group.blocks(1000) == 64  # ceil(1000 / 16) + 1


def test_context_parallel_ranks_share_the_tokens_of_a_request() -> None:
    assert KvGroup("full", 61, 16, shards=8).blocks(8192) == 64


def test_window_layers_keep_all_tokens_without_the_hybrid_manager() -> None:
    model = replace(LLAMA_8B, layer_kinds=("full", "sliding") * 16, sliding_window=128)
    with_manager = only_layout(model=model)
    without = only_layout(model=model, hybrid_manager_off=True)
    assert len(with_manager.groups) == 2 and len(without.groups) == 1
    assert without.blocks(131072) == 8192 and without.block_bytes == 2 * with_manager.block_bytes


def test_layers_of_two_head_sizes_share_pages() -> None:
    """Full layers of 4 x 512 values beside windows of 16 x 256: half the bytes, twice the tokens."""
    kinds = ("sliding",) * 5 + ("full",)
    model = replace(
        LLAMA_8B,
        layers=60,
        layer_kinds=kinds * 10,
        kv_heads=16,
        head_dim=256,
        sliding_window=1024,
        extra={"global_head_dim": 512, "global_kv_heads": 4},
    )
    found = only_layout(model=model, release="0.20.0")
    assert {group.kind: group.block_size for group in found.groups} == {"sliding": 16, "full": 32}
    assert found.page_bytes == 16 * 2 * 16 * 256 * 2
    assert len(found.groups) == 6 and found.layers_per_block == 10


def recorded_layout(row: dict[str, Any], release: Release) -> KvLayout:
    engine, counts = row["input"]["engine"], dict[LayerKind, int]()
    windows: dict[LayerKind, int] = {}
    for part in row["input"]["workers"][0]:
        kind = KINDS[part["kind"]]
        counts[kind] = part["n"]
        windows[kind] = part.get("window") or part.get("chunk") or 0
    has_groups = value_at("hybrid_groups", release)
    if len(counts) > 1 and (not has_groups or engine.get("disable_hybrid_kv_cache_manager")):
        counts = {"full": sum(counts.values())}
    size = engine.get("block_size", 16)
    first = row["input"]["workers"][0][0]
    values = first["dim"] * first["heads"] * (1 if first["kind"] == "mla" else 2)
    groups = cut_groups(
        counts,
        padding_ratio=value_at("group_padding", release),
        block_sizes=dict.fromkeys(counts, size),
        windows=windows,
        in_flight_tokens=engine.get("max_num_batched_tokens", 8192)
        * value_at("window_batches", release),
        shards=1,
    )
    return KvLayout(groups, size * values * (1 if first["dtype"] == "uint8" else 2))


@pytest.mark.parametrize("version", RECORDED)
def test_the_real_planner_agrees(shared: Path, version: str) -> None:
    release, compared = Release(version), 0
    for row in json.loads((shared / "oracle" / "kv" / f"{version}.json").read_text())["rows"]:
        given, workers = row["input"], row["input"]["workers"]
        parts = [part for part in workers[0] if part["kind"] in KINDS]
        is_plain = len({part["kind"] for part in parts}) == len(workers[0]) > 0
        if not is_plain or len(workers) > 1 or given["max_model_len"] < 0:
            continue
        found, length = recorded_layout(row, release), given["max_model_len"]
        available = int(max(given["memory"][0], 0) // found.block_bytes)
        blocks = given["engine"].get("num_gpu_blocks_override", available)
        checked = blocks if value_at("override_is_checked", release) else available
        fits = found.blocks(length) + value_at("null_block_is_extra", release) <= checked
        if "answer" not in row:
            assert not fits or "has no attribute" in row["error"]["message"], row["name"]
            continue
        assert fits, row["name"]
        answer = row["answer"]
        assert blocks == answer["num_blocks"][0], row["name"]
        if answer.get("max_concurrency"):
            seen = pytest.approx(answer["max_concurrency"])
            assert found.concurrency(blocks, length) == seen, row["name"]
        if answer.get("capacity_tokens"):
            printed = found.printed_tokens(blocks, length, release)
            assert printed == answer["capacity_tokens"], row["name"]
        compared += 1
    assert compared >= 15
