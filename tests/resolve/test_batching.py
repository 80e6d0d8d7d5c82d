"""Token budget, batch width and chunked prefill: tiers, caps and what is forced."""

from __future__ import annotations

import pytest

from scheduler_reader.value import Unknown

BUDGET, SEQS = "max_num_batched_tokens", "max_num_seqs"


@pytest.mark.parametrize(
    ("version", "gpu", "offline", "budget", "seqs"),
    [
        ("0.8.4", "a100", False, 2048, 256),  # told by name: h100 or h200
        ("0.8.5", "a100", False, 8192, 1024),  # told by memory: 70 GiB
        ("0.9.0", "a100", False, 2048, 256),  # A100 taken out again
        ("0.9.0", "a100", True, 8192, 256),
        ("0.18.0", "h100", False, 8192, 1024),
        ("0.18.0", "h100", True, 16384, 1024),
        ("0.27.1", "b200", False, 8192, 1024),
        ("0.28.0", "b200", False, 16384, 1024),
        ("0.33.0", "l4", False, 2048, 256),
        ("0.13.0", "gb10", False, 2048, 256),  # NVML does not tell its memory
        ("0.32.0", "gb10", True, 8192, 256),
        ("0.33.0", "gb10", False, 2048, 256),  # GB10 on the small tier
    ],
)
def test_defaults_by_release_and_gpu(resolved, version, gpu, offline, budget, seqs):
    engine = resolved(version=version, gpu=gpu, offline=offline)
    assert (engine.get(BUDGET), engine.get(SEQS)) == (budget, seqs)


def test_budget_is_capped_at_seqs_times_length_from_0_11_1_on(resolved):
    arguments = "--max-num-seqs 4 --max-model-len 100"
    assert resolved(arguments, version="0.11.0").get(BUDGET) == 8192
    assert resolved(arguments, version="0.11.1").get(BUDGET) == 400


def test_a_given_budget_lowers_the_default_width_from_0_10_1_on(resolved):
    assert resolved("--max-num-batched-tokens 300", version="0.10.0").get(SEQS) == 1024
    engine = resolved("--max-num-batched-tokens 300", version="0.10.1")
    assert engine.get(SEQS) == 300
    assert "lowered to max_num_batched_tokens" in str(engine.value(SEQS).origin)


def test_throughput_mode_doubles_only_defaults(resolved):
    engine = resolved("--performance-mode throughput --max-num-seqs 100", version="0.17.0")
    assert (engine.get(BUDGET), engine.get(SEQS)) == (16384, 100)


def test_unchunked_budget_is_raised_to_the_model_length(resolved):
    engine = resolved("--no-enable-chunked-prefill", version="0.20.0")
    assert engine.get("enable_chunked_prefill") is False
    assert engine.get(BUDGET) == 65536


def test_v1_forces_chunked_prefill_through_0_11_0(resolved):
    engine = resolved("--no-enable-chunked-prefill", version="0.11.0")
    assert engine.get("enable_chunked_prefill") is True
    assert engine.is_set("enable_chunked_prefill")


def test_batched_all_to_all_gets_a_budget_of_its_own(resolved):
    arguments = "-dp 4 --enable-expert-parallel --all2all-backend deepep_low_latency"
    moe = {
        "architectures": ["MixtralForCausalLM"],
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    assert resolved(arguments, version="0.19.0", config=moe).get(BUDGET) == 8192
    assert resolved(arguments, version="0.20.0", config=moe).get(BUDGET) == 256


def test_v0_scheduler(resolved):
    long = resolved("--kv-cache-dtype fp8", version="0.8.5", gpu="a100")
    assert long.engine == "V0"
    assert (long.get("enable_chunked_prefill"), long.get(BUDGET), long.get(SEQS)) == (
        True,
        2048,
        256,
    )
    short = resolved("--kv-cache-dtype fp8 --max-model-len 8192", version="0.8.5", gpu="a100")
    assert (short.get("enable_chunked_prefill"), short.get(BUDGET)) == (False, 8192)


def test_several_partial_prefills_set_a_threshold(resolved):
    engine = resolved("--max-num-partial-prefills 4 --max-model-len 50000", version="0.9.2")
    assert engine.get("long_prefill_token_threshold") == 2000  # 4 % of 50,000


def test_the_default_is_what_nobody_would_have_written(resolved):
    setting = resolved("--max-num-seqs 64", version="0.18.0").settings[SEQS]
    assert (setting.value.value, setting.is_set, setting.default) == (64, True, 1024)
    assert setting.controls


def test_an_unknown_width_makes_the_sizes_of_graphs_unknown(resolved):
    engine = resolved("--max-num-seqs $N", unknown={"$N": "$N is not set"}, version="0.18.0")
    assert engine.value(SEQS) == engine.value("cudagraph_capture_sizes")
    assert isinstance(engine.value(SEQS), Unknown)
    assert "$N is not set" in engine.value(SEQS).reason
