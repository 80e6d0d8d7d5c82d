"""Weights of a model of two small layers to the byte: no matrix is rounded up by the allocator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.stages import stages
from scheduler_reader.capacity.weights import MIB, allocated, is_listed, weight_bytes
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.knowledge.safetensors import StoredWeights

SMALL = replace(
    LLAMA_8B,
    hidden_size=512,
    layers=2,
    attention_heads=4,
    kv_heads=2,
    head_dim=128,
    intermediate_size=1024,
    vocab_size=640,
    max_position_embeddings=64,
)
SHAPES = ((1024, 512), (512, 512), (2048, 512), (512, 1024))  # rows, columns of a layer's modules
LAYER = sum(rows * columns for rows, columns in SHAPES)
EMBEDDING, ROTARY = 640 * 512, 64 * 128  # elements
ENDS = 2 * (2 * EMBEDDING + ROTARY)  # bytes beside the layers


def bytes_of(model: ModelFacts = SMALL, stage: int = 0, **settings: Any) -> float:
    inputs = inputs_of(model, **settings)
    return weight_bytes(inputs, stages(model.layers, inputs.pipeline_parallel)[stage])


def test_matrices_embeddings_and_the_rotary_table() -> None:
    assert bytes_of() == 2 * 2 * LAYER + ENDS
    assert bytes_of(dtype_bytes=4) == 2 * (2 * 2 * LAYER + ENDS)
    pooling = replace(SMALL, is_pooling=True)
    tied = replace(SMALL, tied_embeddings=True)
    assert bytes_of(pooling) == bytes_of(tied) == bytes_of() - 2 * EMBEDDING
    assert bytes_of(replace(SMALL, max_position_embeddings=None)) == bytes_of() - 2 * ROTARY


def test_stages_hold_their_layers_and_ends() -> None:
    one = 2 * (LAYER + EMBEDDING + ROTARY)
    assert [bytes_of(stage=stage, pipeline_parallel=2) for stage in (0, 1)] == [one, one]
    middle = replace(SMALL, layers=3)
    assert bytes_of(middle, 1, pipeline_parallel=3) == 2 * (LAYER + ROTARY)
    pooling = replace(SMALL, is_pooling=True)
    assert bytes_of(pooling, 1, pipeline_parallel=2) == 2 * (LAYER + ROTARY)


def test_weights_that_are_offloaded_are_not_on_the_card() -> None:
    assert bytes_of(offload_bytes=1000.0) == bytes_of() - 1000
    assert bytes_of(offload_bytes=1e12) == 0


def per_element(size: float) -> Callable[[int, int], float]:
    return lambda rows, columns: size * rows * columns


@pytest.mark.parametrize(
    ("method", "bits", "fields", "module_bytes"),
    [
        ("fp8", 8, {}, lambda rows, columns: rows * columns + 4 * rows),
        (
            "fp8",
            8,
            {"block": (96, 100)},
            lambda rows, columns: rows * columns + 4 * ceil(rows / 96) * ceil(columns / 100),
        ),
        ("gptq", 4, {"group_size": 128}, per_element(0.5 + 2 / 128)),
        ("gptq", 4, {"group_size": 32}, per_element(0.5 + 2 / 32)),
        ("awq", 4, {"group_size": 128}, per_element(0.5 + 2.5 / 128)),
        ("bitsandbytes", 4, {"group_size": 64}, per_element(0.5 + 4 / 64)),
        ("modelopt", 4, {"group_size": 16}, per_element(0.5 + 1 / 16)),
        ("mxfp4", 4, {"group_size": 32}, per_element(0.5 + 1 / 32)),
        ("mxfp4", 4, {"group_size": 33}, per_element(0.5 + 2 / 33)),
        ("modelopt", 8, {"group_size": 16}, per_element(1 + 2 / 16)),
    ],
)
def test_packed_weights_and_their_scales(
    method: str, bits: float, fields: dict[str, Any], module_bytes: Callable[[int, int], float]
) -> None:
    """Scales of four bytes, of two, or of one; the embeddings stay in 16 bits."""
    format_ = Quantization(method=method, weight_bits=bits, unquantized=("lm_head",), **fields)
    by_hand = 2 * sum(module_bytes(rows, columns) for rows, columns in SHAPES) + ENDS
    assert bytes_of(quantization=format_) == pytest.approx(by_hand, rel=1e-12)


def test_scales_are_as_wide_as_the_dtype() -> None:
    format_ = Quantization(method="gptq", weight_bits=4, group_size=128)
    by_hand = 2 * LAYER * (0.5 + 4 / 128) + 2 * ENDS
    assert bytes_of(quantization=format_, dtype_bytes=4) == by_hand


def test_gguf_packs_embeddings_too() -> None:
    format_ = Quantization(method="gguf", weight_bits=4.5)
    by_hand = (2 * LAYER + 2 * EMBEDDING) * 4.5 / 8 + 2 * ROTARY
    assert bytes_of(quantization=format_) == by_hand


def test_layers_and_modules_that_are_named_have_bits_of_their_own() -> None:
    first_mlp, attention = 3 * 512 * 1024, 512 * (1024 + 512)
    eight = Quantization(
        method="gguf",
        weight_bits=4,
        unquantized=("model.layers.0.mlp",),
        mixed_bits={"*.self_attn.*": 6, "model.layers.1.self_attn": 8},
    )
    layers = first_mlp * 2 + attention * 0.75 + first_mlp * 0.5 + attention * 1
    by_hand = layers + 2 * EMBEDDING * 0.5 + 2 * ROTARY
    assert bytes_of(quantization=eight) == by_hand


def test_the_router_of_experts_is_neither_packed_nor_adapted() -> None:
    """Four experts of 256; adapters of eight rows for every other module, of two bytes."""
    mixture = replace(SMALL, experts=4, experts_per_token=2, moe_intermediate_size=256)
    experts, router = 4 * 3 * 256 * 512, 4 * 512
    attention = 512 * (1024 + 512)
    gguf = Quantization(method="gguf", weight_bits=4)
    packed = 2 * ((attention + experts) * 0.5 + router * 2) + EMBEDDING + 2 * ROTARY
    assert bytes_of(mixture, quantization=gguf) == packed
    sides = (1024 + 512) + (512 + 512) + (4 * 512 + 512) + (4 * 512 + 256)
    adapted = bytes_of(mixture, lora_rows=8) - bytes_of(mixture)
    assert adapted == 2 * sides * 8 * 2


def test_adapters_of_a_stage_are_those_of_its_layers() -> None:
    sides = sum(rows + columns for rows, columns in SHAPES)
    settings = {"stage": 1, "pipeline_parallel": 2}
    assert bytes_of(lora_rows=3, **settings) - bytes_of(**settings) == sides * 3 * 2


@pytest.mark.parametrize("stage", [0, 1])
def test_embeddings_of_every_layer_are_on_the_first_stage(stage: int) -> None:
    """1,000 rows of 64 elements for each layer, split over two ranks; projections are whole."""
    own = replace(SMALL, extra={"per_layer_input_size": 64, "vocab_per_layer_input": 1000})
    settings = {"stage": stage, "pipeline_parallel": 2, "tensor_parallel": 2}
    more = bytes_of(own, **settings) - bytes_of(**settings)
    of_first = 1000 * 2 * 64 / 2 + 2 * 64 * 512
    assert more == 2 * (2 * 64 * 512 + of_first * (stage == 0))


@pytest.mark.parametrize(
    ("method", "heads"), [("mtp", 0), ("eagle3", 32000 * 512), ("ngram", None)]
)
def test_a_draft_is_on_the_last_stage(method: str, heads: int | None) -> None:
    settings = {"pipeline_parallel": 2, "draft_method": method}
    of_layer = 0 if heads is None else 2 * (LAYER + 3 * 512 * 512) + allocated(2 * heads)
    for stage, drafts in ((0, 0), (1, of_layer)):
        plain = bytes_of(stage=stage, pipeline_parallel=2)
        assert bytes_of(stage=stage, **settings) - plain == drafts


DECODER = 2 * LAYER + 2 * EMBEDDING  # published counts leave the rotary table out


@pytest.mark.parametrize(
    ("share", "mtp_layers", "counts"),
    [
        (0.921, 0, False),  # less than 8 % of the published count are missing
        (0.919, 0, True),
        (1.079, 0, False),
        (1.081, 0, True),
        (0.5, 1, False),  # they may be layers for multi-token prediction
        (1.5, 1, True),
    ],
)
def test_a_published_count_that_shapes_miss_by_far_is_believed(
    share: float, mtp_layers: int, counts: bool
) -> None:
    known = replace(SMALL, parameters=DECODER / share, mtp_layers=mtp_layers)
    missing = (DECODER / share - DECODER) * counts
    assert bytes_of(known) - bytes_of() == pytest.approx(2 * missing, abs=1e-6)
    eight = Quantization(method="fp8", weight_bits=8)
    packed = bytes_of(known, quantization=eight) - bytes_of(quantization=eight)
    assert packed == pytest.approx(missing, abs=1e-6)
    wide = bytes_of(known, dtype_bytes=4) - bytes_of(dtype_bytes=4)
    assert wide == pytest.approx(4 * missing, abs=1e-6)


def test_a_published_count_is_that_of_all_ranks_together() -> None:
    """Experts that data-parallel ranks share are all in it."""
    mixture = replace(SMALL, experts=4, experts_per_token=2, moe_intermediate_size=256)
    layer = 512 * (1024 + 512) + 4 * 3 * 256 * 512 + 4 * 512
    known = replace(mixture, parameters=2 * layer + 2 * EMBEDDING)
    for ranks in ({}, {"data_parallel": 2}, {"tensor_parallel": 2, "expert_parallel": True}):
        assert bytes_of(known, **ranks) == bytes_of(mixture, **ranks)


VISION = {"hidden_size": 64, "intermediate_size": 256, "depth": 2}


@pytest.mark.parametrize(
    ("facts", "elements"),
    [
        ({}, 2 * 64 * (4 * 64 + 2 * 256) + 64 * 512),  # by its shape
        ({"parameters": DECODER + 5000}, 5000),
        ({"parameters": DECODER - 5000}, 0),
        ({"parameters": DECODER + 5000, "stored": StoredWeights(2 * DECODER, 8000, 0)}, 4000),
    ],
)
def test_the_encoder_is_on_the_first_stage(facts: dict[str, Any], elements: int) -> None:
    seeing = replace(SMALL, vision=VISION, **facts)
    assert bytes_of(seeing) - bytes_of() == pytest.approx(2 * elements, abs=1e-6)
    text = bytes_of(stage=1, pipeline_parallel=2)
    assert bytes_of(seeing, 1, pipeline_parallel=2) == pytest.approx(text)
    assert bytes_of(seeing, loads_encoder=False) == pytest.approx(bytes_of(), abs=1e-6, rel=0)


@pytest.mark.parametrize(("replicated", "ranks"), [(False, 4), (True, 1)])
def test_an_encoder_is_split_over_ranks(replicated: bool, ranks: int) -> None:
    settings = {"tensor_parallel": 4, "encoder_is_replicated": replicated}
    for facts, bytes_ in (
        ({"parameters": DECODER + 5001}, 10002),
        ({"stored": StoredWeights(2 * DECODER, 8001, 0)}, 8001),
    ):
        text = bytes_of(replace(SMALL, **facts), **settings) if "stored" in facts else None
        text = text or bytes_of(**settings)
        seeing = bytes_of(replace(SMALL, vision=VISION, **facts), **settings)
        assert seeing - text == pytest.approx(bytes_ / ranks, abs=1e-6)


LATENT = replace(
    SMALL, q_lora_rank=64, kv_lora_rank=64, qk_rope_head_dim=64, qk_nope_head_dim=64, v_head_dim=64
)


def test_stored_bytes_leave_out_what_is_made_while_loading() -> None:
    """An absorbed projection of 4 x 128 x 64 elements a layer, and a table of 64 places."""
    made = 2 * (2 * 4 * 128 * 64 + 64 * 64)
    plain = bytes_of(LATENT)
    stored = replace(LATENT, stored=StoredWeights(round(3 * (plain - made)), 0, 0))
    assert bytes_of(stored) == pytest.approx(3 * (plain - made) + made)
    one_stage = made / 2 + 64 * 64  # half of the projections, the whole table
    half = bytes_of(LATENT, pipeline_parallel=2)
    assert bytes_of(stored, pipeline_parallel=2) == pytest.approx(
        3 * (half - one_stage) + one_stage
    )


@pytest.mark.parametrize(
    ("own", "runs", "dtype_bytes", "is_kept"),
    [
        (None, None, 2, True),
        (None, None, 4, False),  # converted to 32 bits
        (None, "fp8", 2, False),  # packed while loading
        ("gptq", "gptq", 2, True),
        ("mxfp4", "mxfp4", 2, False),  # padded for its kernels
    ],
)
def test_files_count_where_tensors_are_kept_as_they_are(
    own: str | None, runs: str | None, dtype_bytes: int, is_kept: bool
) -> None:
    packed = {
        name: Quantization(method=name, weight_bits=4, group_size=32)
        for name in ("fp8", "gptq", "mxfp4")
    }
    settings = {"quantization": packed.get(runs or ""), "dtype_bytes": dtype_bytes}
    model = replace(SMALL, quantization=packed.get(own or ""))
    local = replace(model, stored=StoredWeights(10**9, 0, 0))
    assert (bytes_of(local, **settings) != bytes_of(model, **settings)) == is_kept
    if is_kept:
        assert bytes_of(local, **settings) == pytest.approx(10**9 + 2 * ROTARY)


@pytest.mark.parametrize(
    ("size", "handed_out"),
    [
        (1, 512),
        (512, 512),
        (513, 1024),
        (int(9.5 * MIB), int(9.5 * MIB)),
        (10 * MIB - 1, 10 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512),  # 2 MiB but a byte is given back
        (11 * MIB - 1, 11 * MIB),
        (11 * MIB, 12 * MIB),  # 1 MiB is not
    ],
)
def test_remainders_above_a_mebibyte_are_given_back(size: int, handed_out: int) -> None:
    assert allocated(size) == handed_out


@pytest.mark.parametrize(
    ("patterns", "is_match"),
    [
        (["lm_head", "mlp"], True),
        (["re:mlp"], False),  # from the beginning
        (["re:nothing", "mlp.experts"], True),
        (["re:model"], True),
        (["*.mlp"], True),  # and all below it
        (["?.mlp"], False),
        (["mod[e]l.layers.3"], True),
        (["layers.3"], True),
        (["ayers.3"], False),
        ([], False),
    ],
)
def test_lists_of_patterns(patterns: list[str], is_match: bool) -> None:
    assert is_listed("model.layers.3.mlp.experts", patterns) is is_match
