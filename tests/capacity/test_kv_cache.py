"""KV groups and blocks of whole models: hand-worked cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B, LLAMA_70B

from scheduler_reader.capacity.inputs import MissingFactError
from scheduler_reader.capacity.kv_cache import layouts, stage_layers
from scheduler_reader.capacity.kv_layers import KvLayer
from scheduler_reader.capacity.kv_pool import KvLayout
from scheduler_reader.capacity.stages import stages

LINEAR_STATE = {
    "linear_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_value_heads": 32,
    "linear_value_head_dim": 128,
    "linear_conv_kernel": 4,
}


def only_layout(**changes: Any) -> KvLayout:
    model = changes.pop("model", LLAMA_70B)
    return layouts(inputs_of(model, **changes))[0]


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
    group = KvLayer("full", block_size=16, page_bytes=1)
    assert [group.blocks(length) for length in (1, 16, 17, 8192)] == [1, 1, 2, 512]


def test_a_window_keeps_one_block_more_and_the_budget() -> None:
    group = KvLayer("sliding", 16, page_bytes=1, window=4096, in_flight_tokens=8192)
    assert group.blocks(32768) == 769  # ceil((4096 - 1 + 8192) / 16) + 1
    assert group.blocks(1000) == 64  # ceil(1000 / 16) + 1


def test_context_parallel_ranks_share_the_tokens_of_a_request() -> None:
    assert KvLayer("full", 16, page_bytes=1, shards=8).blocks(8192) == 64


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
    assert found.block_bytes == 10 * 16 * 2 * 16 * 256 * 2
    assert len(found.groups) == 6


def test_layers_that_share_kv_have_none_of_their_own() -> None:
    model = replace(LLAMA_8B, extra={"kv_shared_layers": 20})
    assert only_layout(model=model).bytes_per_token == 12 * 2 * 8 * 128 * 2


@pytest.mark.parametrize(
    ("kv_dtype", "vector"),
    [("fp8", 128), ("int8_per_token_head", 132), ("fp8_per_token_head", 132), ("nvfp4", 72)],
)
def test_bytes_of_a_quantized_head(kv_dtype: str, vector: int) -> None:
    """A key or value of 128 elements: with a float32 scale, or 4 bits and a scale for sixteen."""
    assert only_layout(model=LLAMA_8B, kv_dtype=kv_dtype).bytes_per_token == 32 * 2 * 8 * vector


def test_a_draft_layer_joins_the_last_stage() -> None:
    inputs = inputs_of(LLAMA_8B, draft_method="mtp", draft_tokens=1, pipeline_parallel=2)
    assert [len(stage.layers) for stage in layouts(inputs)] == [16, 17]


def test_window_layers_with_heads_of_their_own_and_shorter_values() -> None:
    """Full layers of 4 x (192 + 128) elements beside windows of 8 x (192 + 128): twice the page."""
    model = replace(
        LLAMA_8B,
        layers=6,
        layer_kinds=("full",) + ("sliding",) * 5,
        sliding_window=128,
        kv_heads=4,
        head_dim=192,
        v_head_dim=128,
        extra={"swa_kv_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128},
    )
    found = only_layout(model=model)
    assert {group.kind: group.block_size for group in found.groups} == {"full": 32, "sliding": 16}
    assert found.block_bytes == 16 * 8 * (192 + 128) * 2


def test_a_draft_model_brings_its_own_layers() -> None:
    """70B with 8B to draft: 80 and 32 layers of the same heads in one group."""
    inputs = inputs_of(LLAMA_70B, draft_method="draft_model", draft_model=LLAMA_8B)
    (found,) = layouts(inputs)
    assert [len(group.layers) for group in found.groups] == [112]
    assert found.bytes_per_token == 112 * 2 * 8 * 128 * 2


def test_layers_that_a_release_cannot_group_give_its_reason() -> None:
    model = replace(LLAMA_8B, layer_kinds=("full", "linear") * 16, extra=LINEAR_STATE)
    with pytest.raises(MissingFactError, match="only with the hybrid KV cache manager"):
        layouts(inputs_of(model, hybrid_manager_off=True))


def test_a_stage_of_states_alone_and_a_draft_not_known_have_reasons() -> None:
    model = replace(LLAMA_8B, layer_kinds=("linear",) * 16 + ("full",) * 16, extra=LINEAR_STATE)
    with pytest.raises(MissingFactError, match="no attention layers on a pipeline stage"):
        layouts(inputs_of(model, pipeline_parallel=2))
    with pytest.raises(MissingFactError, match="the draft of speculative method telepathy"):
        layouts(inputs_of(LLAMA_8B, draft_method="telepathy"))


@pytest.mark.parametrize(
    ("release", "batches", "steps"), [("0.25.0", 2, 1), ("0.26.0", 1, 1), ("0.26.0", 2, 2)]
)
def test_a_window_keeps_the_steps_in_flight_from_0_26(
    release: str, batches: int, steps: int
) -> None:
    model = replace(LLAMA_8B, sliding_window=1024, layer_kinds=("sliding", "full") * 16)
    layout = only_layout(model=model, release=release, batches_in_flight=batches, token_budget=2048)
    in_flight = {layer.in_flight_tokens for layer in layout.layers if layer.kind == "sliding"}
    assert in_flight == {2048 * steps}


def test_a_sparse_index_keeps_a_key_and_a_scale_beside_the_latent() -> None:
    """96 + 64 elements of two bytes, a key of 100 of one and a scale of four."""
    model = replace(LLAMA_8B, kv_lora_rank=96, qk_rope_head_dim=64)
    assert only_layout(model=model).bytes_per_token == 32 * (96 + 64) * 2
    indexed = replace(model, extra={"index_head_dim": 100})
    assert only_layout(model=indexed).bytes_per_token == 32 * ((96 + 64) * 2 + 100 + 4)


def test_windows_and_chunks_have_lengths_of_their_own() -> None:
    model = replace(
        LLAMA_8B,
        layers=3,
        layer_kinds=("full", "sliding", "chunked"),
        sliding_window=1024,
        attention_chunk_size=8192,
    )
    held = stage_layers(inputs_of(model, token_budget=2048), stages(3, 1)[0])
    assert [(layer.kind, layer.window, layer.in_flight_tokens) for layer in held.values()] == [
        ("full", 0, 0),
        ("sliding", 1024, 2048),
        ("chunked", 8192, 2048),
    ]


def test_a_draft_layer_is_a_full_one_beside_windows() -> None:
    """16 windows and 16 full layers of the model's own, and one more that keeps all tokens."""
    model = replace(LLAMA_8B, layer_kinds=("full", "sliding") * 16, sliding_window=1024)
    inputs = inputs_of(model, draft_method="eagle3", draft_tokens=3)
    held = stage_layers(inputs, stages(32, 1)[0])
    assert sorted(held) == list(range(33))
    assert held[32].kind == "full"
    assert [len(group.layers) for group in layouts(inputs)[0].groups] == [17, 16]
