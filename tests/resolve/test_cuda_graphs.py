"""CUDA graph mode and capture sizes, worked out by hand."""

from __future__ import annotations

import pytest

MODE, SIZES, LARGEST = "cudagraph_mode", "cudagraph_capture_sizes", "max_cudagraph_capture_size"
DRAFTS = """--speculative-config '{"method": "ngram", "num_speculative_tokens": 4}'"""


@pytest.mark.parametrize(
    ("version", "arguments", "mode"),
    [
        ("0.10.2", "", "PIECEWISE"),
        ("0.10.2", "-O1", "NONE"),
        ("0.11.0", "", "FULL_AND_PIECEWISE"),
        ("0.18.0", "-O0", "NONE"),
        ("0.18.0", "-O1", "PIECEWISE"),
        ("0.18.0", "--enforce-eager", "NONE"),
        ("0.18.0", "--runner pooling", "PIECEWISE"),
        ("0.12.0", "-tp 8 -dcp 8", "PIECEWISE"),
        ("0.13.0", "-tp 8 -dcp 8", "FULL_AND_PIECEWISE"),
        ("0.18.0", """-cc '{"cudagraph_mode": "full_decode_only"}'""", "FULL_DECODE_ONLY"),
        ("0.29.0", """-cc '{"mode": 0}'""", "NONE"),
        ("0.30.0", """-cc '{"mode": 0}'""", "FULL_DECODE_ONLY"),
    ],
)
def test_mode(resolved, version, arguments, mode):
    assert resolved(arguments, version=version).get(MODE) == mode


def test_deepep_high_throughput_turns_graphs_off_after_sizing(resolved):
    arguments = "-dp 4 --enable-expert-parallel --all2all-backend deepep_high_throughput"
    moe = {
        "architectures": ["MixtralForCausalLM"],
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    engine = resolved(arguments, version="0.20.0", config=moe)
    assert (engine.get(MODE), engine.get(LARGEST)) == ("NONE", 512)


def test_ladder_of_eights_in_descending_order_through_0_11_0(resolved):
    engine = resolved("--max-num-seqs 20", version="0.10.2")
    assert engine.get(SIZES) == [40, 32, 24, 16, 8, 4, 2, 1]
    assert resolved("--max-num-seqs 20", version="0.9.2").get(LARGEST) == 512


def test_sixteens_from_256_on(resolved):
    sizes = resolved("--max-num-seqs 150", version="0.18.0").get(SIZES)
    assert sizes[:6] == [1, 2, 4, 8, 16, 24]
    assert sizes[-5:] == [240, 248, 256, 272, 288]  # the ceiling is 300


def test_token_budget_cuts_the_ladder_and_is_captured_itself(resolved):
    old = resolved("--max-num-batched-tokens 100", version="0.20.0").get(SIZES)
    new = resolved("--max-num-batched-tokens 100", version="0.24.0").get(SIZES)
    assert old[-1] == 96
    assert new == [*old, 100]


def test_batch_width_is_captured_from_0_31_on(resolved):
    assert 100 not in resolved("--max-num-seqs 100", version="0.30.0").get(SIZES)
    assert 100 in resolved("--max-num-seqs 100", version="0.31.0").get(SIZES)


def test_decode_batches_with_drafts_are_captured_from_0_29_on(resolved):
    arguments = f"--max-num-seqs 3 {DRAFTS}"  # 5 tokens a request: ceiling 2 x 3 x 5 = 30
    assert resolved(arguments, version="0.28.0").get(SIZES) == [1, 2, 4, 8, 16, 24]
    assert resolved(arguments, version="0.29.0").get(SIZES) == [1, 2, 4, 5, 8, 10, 15, 16, 24]


def test_given_sizes_beyond_the_budget_are_dropped(resolved):
    arguments = "--cudagraph-capture-sizes 64 4 4 999 --max-num-batched-tokens 512"
    engine = resolved(arguments, version="0.18.0")
    assert (engine.get(SIZES), engine.get(LARGEST)) == ([4, 64], 64)


def test_a_given_ceiling_is_truncated_to_the_ladder(resolved):
    engine = resolved("--max-cudagraph-capture-size 100", version="0.18.0")
    assert engine.get(LARGEST) == 96


def test_interactivity_captures_every_small_size(resolved):
    sizes = resolved("--performance-mode interactivity", version="0.18.0").get(SIZES)
    assert sizes[:34] == [*range(1, 33), 40, 48]


def test_blackwell_captures_up_to_1024_from_0_28_on(resolved):
    assert resolved(version="0.27.1", gpu="b200").get(LARGEST) == 512
    assert resolved(version="0.28.0", gpu="b200").get(LARGEST) == 1024
    assert resolved(version="0.28.0", gpu="h200").get(LARGEST) == 512


def test_nothing_is_captured_without_graphs(resolved):
    engine = resolved("--enforce-eager", version="0.18.0")
    assert (engine.get(SIZES), engine.get(LARGEST)) == ([], 0)


def test_v0_captures_up_to_the_first_size_that_holds_the_batch(resolved):
    engine = resolved("--max-num-seqs 20", version="0.7.3")
    assert engine.get(SIZES) == [24, 16, 8, 4, 2, 1]


def test_data_parallelism_forced_eager_mode_in_0_8(resolved):
    assert resolved("-dp 2", version="0.8.5").get("enforce_eager") is True
    assert resolved("-dp 2", version="0.9.0").get("enforce_eager") is False


def test_one_early_graph_size_is_a_ceiling_and_later_the_only_size(resolved):
    arguments = "--cuda-graph-sizes 20"
    assert resolved(arguments, version="0.11.0").get(SIZES) == [16, 8, 4, 2, 1]
    assert resolved(arguments, version="0.11.1").get(SIZES) == [20]
