"""Vision encoders: their weights, and their part of the profile run, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.activations import profile_peak, sampler_peak
from scheduler_reader.capacity.encoder import encoder_elements, encoder_shape
from scheduler_reader.capacity.stages import stages
from scheduler_reader.capacity.weights import weight_bytes
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts

GEMMA = replace(
    LLAMA_8B,
    architecture="Gemma3ForConditionalGeneration",
    vision={"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27},
)
QWEN = replace(
    GEMMA,
    architecture="Qwen3VLForConditionalGeneration",
    vision={"hidden_size": 1152, "intermediate_size": 4304, "depth": 27, "deepstack_layers": 3},
)
ONLY = stages(32, 1)[0]


def peak(model: ModelFacts, release: str) -> float:
    inputs = inputs_of(model, release=release, token_budget=16384, encoder_runs=True)
    return profile_peak(inputs, ONLY).best


def test_embeddings_of_all_images_are_kept_beside_the_decoder() -> None:
    """63 images of 260 tokens fit into 16,384, each 4,096 elements of two bytes a token."""
    text = inputs_of(GEMMA, release="0.13.0", token_budget=16384)
    decoder = profile_peak(text, ONLY).best
    encoder = 63 * 4096 * (4 * 1152 + 2 * 4304) * 2
    assert peak(GEMMA, "0.13.0") == max(decoder + 63 * 260 * 4096 * 2, encoder)


def test_0_11_and_0_12_pad_every_embedding_to_the_budget() -> None:
    text = inputs_of(GEMMA, release="0.11.2", token_budget=16384)
    decoder = profile_peak(text, ONLY).best
    assert peak(GEMMA, "0.11.2") == decoder + 63 * 16384 * 4096 * 2


def test_one_image_may_be_larger_than_the_budget() -> None:
    """A Qwen3-VL image has 16,384 tokens in four streams; 65,536 patches are encoded."""
    inputs = inputs_of(QWEN, token_budget=2048, max_num_seqs=4, encoder_runs=True)
    assert profile_peak(inputs, ONLY).best == 65536 * (4 * 1152 + 2 * 4304) * 2


def test_embeddings_of_every_stream_are_kept() -> None:
    """Four streams of a 16,384-token image outweigh its encoder where the hidden state is wide."""
    wide = replace(QWEN, hidden_size=32768)
    with_image, text = (
        profile_peak(inputs_of(wide, token_budget=2048, max_num_seqs=4, encoder_runs=runs), ONLY)
        for runs in (True, False)
    )
    assert with_image.best - text.best == 16384 * 4 * 32768 * 2


def test_the_inner_width_of_the_encoder_is_shared_by_the_ranks() -> None:
    settings = {"token_budget": 2048, "max_num_seqs": 4, "encoder_runs": True}
    inputs = inputs_of(QWEN, **settings, tensor_parallel=2)
    assert profile_peak(inputs, ONLY).best == 65536 * (4 * 1152 + 4304) * 2


def test_an_encoder_of_unknown_images_widens_the_spread() -> None:
    other = replace(GEMMA, architecture="SomeForConditionalGeneration")
    spread = profile_peak(inputs_of(other, encoder_runs=True), ONLY)
    plain = profile_peak(inputs_of(other), ONLY)
    assert spread.high - plain.high == pytest.approx(3.0 * GIB)


def test_weights_by_shape_where_no_count_is_published() -> None:
    by_hand = 27 * (4 * 1152**2 + 2 * 1152 * 4304) + 1152 * 4096
    assert encoder_elements(GEMMA) == by_hand
    without = weight_bytes(inputs_of(replace(GEMMA, vision=None)), ONLY)
    whole = weight_bytes(inputs_of(GEMMA), ONLY)
    assert whole - without == 2 * by_hand


def test_the_encoder_is_split_over_ranks_unless_it_runs_in_data_parallel() -> None:
    share = encoder_elements(GEMMA) * 2
    text = weight_bytes(inputs_of(GEMMA, tensor_parallel=4, loads_encoder=False), ONLY)
    split = weight_bytes(inputs_of(GEMMA, tensor_parallel=4), ONLY)
    replicated = inputs_of(GEMMA, tensor_parallel=4, encoder_is_replicated=True)
    assert split - text == pytest.approx(share / 4)
    assert weight_bytes(replicated, ONLY) - text == pytest.approx(share)


def test_names_of_the_sizes_differ() -> None:
    shape = encoder_shape(replace(GEMMA, vision={"embed_dim": 1280, "mlp_ratio": 4, "depth": 32}))
    assert shape == (1280, 5120, 32)
    no_shapes = (
        {"image_size": 336},
        {"hidden_size": 1152, "depth": 27},
        {"hidden_size": 1152, "intermediate_size": 4304},
        {"intermediate_size": 4304, "depth": 27},
        {"mlp_ratio": 4, "depth": 27},
    )
    for vision in no_shapes:
        unknown = replace(GEMMA, vision=vision)
        assert (encoder_shape(unknown), encoder_elements(unknown)) == (None, 0)


def test_weights_of_a_gated_encoder_with_embeddings_of_places() -> None:
    """Gate, up and down, and a row and a column for each of 1,000 places."""
    vision = {"hidden_size": 1100, "intermediate_size": 4400, "depth": 3}
    vision |= {"position_embedding_size": 1000}
    gated = replace(GEMMA, architecture="Gemma4ForConditionalGeneration", vision=vision)
    layers = 3 * 1100 * (4 * 1100 + 3 * 4400)
    assert encoder_elements(gated) == layers + 1100 * (2 * 1000 + 4096)


def test_a_merger_of_patches_without_streams_has_two_matrices() -> None:
    merging = replace(QWEN, vision={**QWEN.vision, "deepstack_layers": 0, "spatial_merge_size": 3})
    plain = replace(QWEN, vision={**QWEN.vision, "deepstack_layers": 0})
    more = encoder_elements(merging) - encoder_elements(plain)
    assert more == 9 * 1152 * (9 * 1152 + 4096) - 1152 * 4096


def test_the_rejection_sampler_runs_with_drafts() -> None:
    """34 bytes a sequence and vocabulary entry instead of 14, beside the kept hidden states."""
    drafting = inputs_of(LLAMA_8B, release="0.24.0", draft_method="eagle3", draft_tokens=3)
    hidden = 8192 * 2 * 4096 * 2
    assert sampler_peak(drafting).best == 34 * 1024 * 128256 + hidden
    assert sampler_peak(inputs_of(LLAMA_8B, release="0.24.0")).best == 14 * 1024 * 128256 + hidden
