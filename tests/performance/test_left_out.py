"""Every feature that changes speed is counted or named, and weights in host memory are counted."""

from __future__ import annotations

import pytest

from scheduler_reader.data import documents
from scheduler_reader.performance import estimate_performance
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"
TABLE = documents("compat_matrix", "speed_features.yaml")["speed_features.yaml"]["features"]
# Of the features of the compatibility table, those that a request asks for or a model is.
NOT_OF_THE_ENGINE = {
    "async-output", "beam-search", "best-of", "dense-model", "draft-model", "encoder-decoder",
    "external-lb-data-parallel", "full-cuda-graph", "hybrid-kv-groups", "hybrid-kv-manager",
    "logprobs", "mamba-hybrid", "mamba-prefix-caching", "mla", "multimodal", "nvfp4-kv-cache",
    "pooling", "prompt-embeds", "prompt-logprobs", "sliding-window", "structured-outputs",
    "torch-compile", "v1-engine",
}  # fmt: skip


def test_each_feature_says_one_thing():
    for name, entry in TABLE.items():
        assert ("says" in entry) != ("modelled" in entry), name
        assert entry["setting"], name


def test_no_feature_of_the_compatibility_table_is_forgotten():
    features = documents("compat_matrix", "features.yaml")["features.yaml"]["features"]
    assert set(features) - NOT_OF_THE_ENGINE <= set(TABLE)


def test_a_plain_engine_leaves_nothing_out(served):
    assert build_step_model(served(LLAMA_8B)[0]).value.not_modeled == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--enable-lora", "LoRA: the adapters' products"),
        ("--kv-offloading-size 20", "KV offloading to host memory"),
        ("--scheduling-policy priority", "priority scheduling"),
        ("-tp 8 -dcp 2", "decode context parallelism"),
        ("--enable-dbo", "two micro-batches"),
    ],
)
def test_a_feature_that_is_left_out_is_named(served, arguments, says):
    notes = build_step_model(served(f"{LLAMA_8B} {arguments}")[0]).value.not_modeled
    assert [note for note in notes if note.startswith(says)]


def test_drafts_of_a_mixture_of_experts_are_said_to_be_rough(served):
    config = '{"method": "mtp", "num_speculative_tokens": 1}'
    arguments = f"deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config '{config}'"
    model = build_step_model(served(arguments, gpu="h200-sxm")[0]).value
    # DeepSeek-V3's report: 85 to 90 % of the second tokens are accepted, 1.8 times the tokens.
    assert model.acceptance == pytest.approx(1.8, abs=0.05)
    assert any("share its experts" in note for note in model.not_modeled)


def test_weights_in_host_memory_are_read_over_pcie_in_every_step(served):
    plain, offloaded = (
        build_step_model(served(f"{LLAMA_8B} {flag}")[0]).value
        for flag in ("", "--cpu-offload-gb 4")
    )
    # 4 GiB at 0.8 of 64 GB/s: 84 ms
    added_s = offloaded.step_seconds(1, 100) - plain.step_seconds(1, 100)
    assert added_s == pytest.approx(4 * 1024**3 / (0.8 * 64e9), rel=0.01)
    assert offloaded.bandwidth_floor_s(100) - plain.bandwidth_floor_s(100) == pytest.approx(added_s)
    assert offloaded.step_parts(1, 100).memory > 0.067  # what a verdict calls reading weights


def test_no_more_than_all_weights_are_read(served):
    model = build_step_model(served(f"{LLAMA_8B} --cpu-offload-gb 400")[0]).value
    assert model.streamed_s * 0.8 * 64e9 == pytest.approx(6.98e9 * 2, rel=0.01)  # 32 layers


def found_hits(served, arguments: str, **changes):
    workload = DEFAULT_WORKLOAD.replaced({"input_tokens": 1000} | changes)
    return estimate_performance(*served(arguments, workload), workload, Slo()).value


def test_a_hit_takes_whole_blocks(served):
    assert found_hits(served, LLAMA_8B, shared_prefix_tokens=500).assumptions == ()
    (sentence,) = found_hits(
        served, f"{LLAMA_8B} --block-size 128", shared_prefix_tokens=500
    ).assumptions
    # 3 of 128 are 384 of 1,000
    assert sentence == (
        "prefix cache: 38% of the prompt tokens are found, not 50%: only whole blocks of 128 tokens "
        "are, and 500 tokens are shared"
    )


def test_a_prefix_shorter_than_a_hybrid_block_is_never_found(served):
    hybrid = "nvidia/NVIDIA-Nemotron-Nano-9B-v2 --max-model-len 8192 --enable-prefix-caching"
    cold = found_hits(served, hybrid)
    warm = found_hits(served, hybrid, shared_prefix_tokens=400)
    assert warm.ttft_ms == cold.ttft_ms
    assert any(
        note.startswith("prefix cache: 0% of the prompt tokens") for note in warm.assumptions
    )


def test_a_cache_that_is_off_finds_nothing_and_says_so(served):
    (sentence,) = found_hits(
        served, f"{LLAMA_8B} --no-enable-prefix-caching", prefix_cache_hit_rate=0.4
    ).assumptions
    assert sentence == "prefix caching is off: none of the 40% shared prompt tokens is found"


def test_fp8_keys_and_values_halve_the_bytes_of_a_token(served):
    whole, half = (
        build_step_model(served(f"{LLAMA_8B} --kv-cache-dtype {name}")[0]).value.attention[0]
        for name in ("auto", "fp8")
    )
    assert half.kv_token_s == pytest.approx(whole.kv_token_s / 2)
    assert half.decode_fixed_s != whole.decode_fixed_s  # kernels of their own
