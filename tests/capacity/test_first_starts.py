"""Where public start-up logs differed from the plan: items, gathered tokens, unified memory, graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B

from scheduler_reader.capacity.activations import layer_bytes_per_token, profile_peak
from scheduler_reader.capacity.budget import stage_weights
from scheduler_reader.capacity.constants import gib_spread
from scheduler_reader.capacity.encoder import encoder_elements
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.modules import experts_per_rank
from scheduler_reader.capacity.overheads import are_graphs_in_budget, non_torch
from scheduler_reader.capacity.read_inputs import read_inputs
from scheduler_reader.capacity.stages import stages
from scheduler_reader.capacity.weights import made_while_loading
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.value import Unknown

ONLY = stages(32, 1)[0]
EIGHT_OF_64 = replace(
    LLAMA_8B, experts=64, experts_per_token=8, moe_intermediate_size=1536, intermediate_size=0
)
VISION = {"hidden_size": 1152, "intermediate_size": 4304, "depth": 27, "deepstack_layers": 3}
QWEN = replace(LLAMA_8B, architecture="Qwen3VLForConditionalGeneration", vision=VISION)
PATCH = (4 * 1152 + 2 * 4304) * 2


def encoding(**changes: object) -> CapacityInputs:
    settings = {
        "token_budget": 65536,
        "max_num_seqs": 64,
        "encoder_runs": True,
        "release": "0.13.0",
    }
    return inputs_of(QWEN, **(settings | changes))


@pytest.mark.parametrize(
    ("changes", "images"),
    [
        ({}, 4),  # of 16,384 tokens in a budget of 65,536
        ({"max_num_seqs": 2, "max_model_len": 20000}, 2),  # a prompt holds one, two prompts two
        ({"max_num_seqs": 1, "items_a_prompt": {"image": 3}}, 3),
        ({"max_num_seqs": 1, "max_model_len": 4096}, 1),
    ],
)
def test_no_more_images_are_encoded_than_sequences_hold(
    changes: dict[str, object], images: int
) -> None:
    inputs = encoding(**changes)
    text = profile_peak(inputs.changed(encoder_runs=False), ONLY).best
    assert profile_peak(inputs, ONLY).best == text + images * 16384 * 4 * 4096 * 2


def test_0_11_and_0_12_encode_a_video_that_counts_more_than_an_image() -> None:
    """12,288 tokens of a video count 12.5 times: 153,600 embeddings of four streams are kept."""
    inputs = encoding(release="0.11.0", token_budget=2048, max_num_seqs=8)
    text = profile_peak(inputs.changed(encoder_runs=False), ONLY).best
    assert profile_peak(inputs, ONLY).best == text + 153600 * 4 * 4096 * 2
    without = inputs.changed(items_a_prompt={"video": 0})
    assert profile_peak(without, ONLY).best == max(text + 16384 * 4 * 4096 * 2, 65536 * PATCH)


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ("""'{"image": 2, "video": {"count": 0, "num_frames": 8}}'""", {"image": 2, "video": 0}),
        ("""'{"image": {"width": 512}}'""", {}),
    ],
)
def test_limits_of_items_are_numbers_or_options(written: str, limits: dict[str, int]) -> None:
    command = f"vllm serve Qwen/Qwen3-VL-8B-Instruct --limit-mm-per-prompt {written}".replace(
        "'", ""
    )
    words = command.split(" ", 4)
    engine = resolve(parse_command(words).engines[0], ResolveOptions("0.18.0", "h100", None))
    found = read_inputs(engine)
    assert isinstance(found, CapacityInputs)
    assert dict(found.items_a_prompt) == limits


def test_qwens_merge_four_patches_in_two_matrices_for_each_stream() -> None:
    plain = encoder_elements(QWEN)
    merging = encoder_elements(replace(QWEN, vision=VISION | {"spatial_merge_size": 2}))
    assert merging - plain == 4 * 4608 * (4608 + 4096) - 1152 * 4096


@pytest.mark.parametrize(("release", "factor"), [("0.31.0", 4), ("0.32.0", 1)])
def test_images_turn_heads_by_more_positions_than_text_has(release: str, factor: int) -> None:
    table = made_while_loading(inputs_of(QWEN, release=release), ONLY)
    assert table == factor * 131072 * 128 * 2


@pytest.mark.parametrize(
    ("release", "budget", "copied"),
    [
        ("0.11.2", 8192, 4),  # 32,768 tokens at a time
        ("0.17.1", 8192, 2),
        ("0.18.0", 8192, 8),
        ("0.17.1", 1024, 8),
    ],
)
def test_experts_work_on_the_tokens_that_data_parallel_ranks_gather(
    release: str, budget: int, copied: int
) -> None:
    """Eight ranks' tokens and results, and a copy for each of eight experts of 1,536."""
    settings = {"release": release, "token_budget": budget, "expert_parallel": True}
    inputs = inputs_of(EIGHT_OF_64, data_parallel=8, gathered_ranks=8, **settings)
    copies = copied * 8 * (4096 + 1536)
    assert layer_bytes_per_token(inputs) == (3 * 4096 + copies + 8 * 2 * 4096) * 2


def test_a_budget_beyond_the_chunk_is_copied_in_chunks() -> None:
    inputs = inputs_of(EIGHT_OF_64, release="0.17.1", token_budget=65536)
    assert layer_bytes_per_token(inputs) == (3 * 4096 + 8 * (4096 + 1536) / 4) * 2


@pytest.mark.parametrize(
    ("backend", "variables", "ranks"),
    [
        ("", {}, 4),
        ("--all2all-backend naive", {}, 4),
        ("--all2all-backend deepep_low_latency", {}, 1),
        ("", {"VLLM_ALL2ALL_BACKEND": "pplx"}, 1),
    ],
)
def test_tokens_are_gathered_unless_they_are_sent_to_their_experts(
    backend: str, variables: dict[str, str], ranks: int
) -> None:
    words = [f"{name}={value}" for name, value in variables.items()]
    words += f"vllm serve Qwen/Qwen3-30B-A3B --data-parallel-size 4 {backend}".split()
    engine = resolve(parse_command(words).engines[0], ResolveOptions("0.12.0", "h100", None))
    found = read_inputs(engine)
    assert isinstance(found, CapacityInputs)
    assert found.gathered_ranks == ranks


def test_all_ranks_share_each_expert_or_hold_whole_ones() -> None:
    inputs = inputs_of(EIGHT_OF_64, tensor_parallel=2, data_parallel=4)
    assert experts_per_rank(inputs) == (64, 1536 / 8)
    assert experts_per_rank(inputs.changed(expert_parallel=True)) == (8, 1536)


def test_data_parallel_ranks_have_collectives_where_they_share_experts() -> None:
    alone = gib_spread("non_torch_gib")
    assert non_torch(inputs_of(LLAMA_8B, data_parallel=4)) == alone
    shared = non_torch(inputs_of(EIGHT_OF_64, data_parallel=4))
    assert shared == alone + gib_spread("non_torch_parallel_gib")


def test_one_memory_for_cpu_and_gpu_counts_what_the_host_takes() -> None:
    unified = replace(H100, unified_memory=True)
    assert non_torch(inputs_of(LLAMA_8B, gpu=unified)) == gib_spread("non_torch_unified_gib")


@pytest.mark.parametrize(
    ("release", "second", "taken"),
    [("0.28.0", False, True), ("0.28.0", True, False), ("0.29.0", True, True)],
)
def test_the_second_runner_estimates_graphs_from_0_29_on(
    release: str, second: bool, taken: bool
) -> None:
    inputs = inputs_of(LLAMA_8B, release=release, uses_second_runner=second)
    assert are_graphs_in_budget(inputs) is taken
    assert are_graphs_in_budget(inputs.changed(graphs_in_budget=True)) is taken


def test_layers_are_dealt_to_stages_by_hand() -> None:
    held = stages(36, 2, (16, 20))
    assert [(stage.first, stage.last) for stage in held] == [(0, 16), (16, 36)]
    even = inputs_of(LLAMA_8B, pipeline_parallel=2)
    more, fewer = (stage_weights(even.changed(layers_by_stage=cut)) for cut in ((20, 12), (16, 16)))
    assert fewer == stage_weights(even)
    layer = (more[0] - fewer[0]) / 4
    assert layer > 0 and more[1] == fewer[1] - 4 * layer


@pytest.mark.parametrize(
    ("variable", "stages", "dealt"),
    [("16,20", 2, (16, 20)), ("16,20", 3, None), ("16,19", 2, None), ("x", 2, ())],
)
def test_layers_of_the_variable(variable: str, stages: int, dealt: tuple[int, ...] | None) -> None:
    words = f"VLLM_PP_LAYER_PARTITION={variable} vllm serve Qwen/Qwen3-8B -pp {stages}".split()
    engine = resolve(parse_command(words).engines[0], ResolveOptions("0.18.0", "h100", None))
    found = read_inputs(engine)
    assert (found.layers_by_stage if isinstance(found, CapacityInputs) else None) == dealt


def test_the_layout_of_latent_vectors_is_no_size_for_heads() -> None:
    words = ["vllm", "serve", "Qwen/Qwen3-8B", "--kv-cache-dtype", "fp8_ds_mla"]
    engine = resolve(parse_command(words).engines[0], ResolveOptions("0.18.0", "h100", None))
    assert isinstance(read_inputs(engine), Unknown)
