"""Set-ups whose binding limit is known by construction."""

from __future__ import annotations

import pytest
from loads import closed, offered

from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.performance import estimate_out_of_step
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Slo, Workload

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
QWEN_32B = "Qwen/Qwen3-32B"


@pytest.fixture(scope="module")
def verdict(served):
    def run(arguments: str, workload: Workload, slo: Slo | None = None, **target):
        engine, plan = served(arguments, workload, **target)
        found = find_bottleneck(engine, plan, workload, slo or Slo())
        assert isinstance(found, Known), found
        return found.value

    return run


SET_UPS = {
    "blocks for a tenth of the load": (
        QWEN_32B + " --max-model-len 8192",
        closed(128, 3000, 800),
        None,
        ("paged_attention", "kv_starvation"),
    ),
    "little memory granted": (
        LLAMA_8B + " --gpu-memory-utilization 0.28 --max-model-len 8192",
        closed(160, 1500, 400),
        None,
        ("paged_attention", "kv_starvation"),
    ),
    "does not start": (
        "meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192",
        closed(8, 500, 100),
        None,
        ("paged_attention", "hbm_capacity"),
    ),
    "four seats": (
        LLAMA_8B + " --max-num-seqs 4",
        closed(64, 300, 300),
        None,
        ("continuous_batching", "admission_stall"),
    ),
    "seats under an SLO": (
        LLAMA_8B + " --max-num-seqs 16",
        offered(6, 500, 400),
        Slo(ttft_ms=1000),
        ("continuous_batching", "admission_stall"),
    ),
    "tiny chunks": (
        LLAMA_8B + " --max-num-batched-tokens 96 --max-num-seqs 32 --max-model-len 16384",
        closed(24, 6000, 50),
        None,
        ("chunked_prefill", "chunk_too_small"),
    ),
    "chunks that stall decodes": (
        LLAMA_8B + " --max-model-len 16384",
        offered(1.5, 7000, 250),
        Slo(ttft_ms=3000, itl_ms=50),
        ("chunked_prefill", "chunk_too_large"),
    ),
    "whole prompts": (
        LLAMA_8B + " --no-enable-chunked-prefill --max-model-len 20000",
        offered(0.8, 15000, 300),
        Slo(ttft_ms=5000, itl_ms=60),
        ("chunked_prefill", "prefill_unchunked"),
    ),
    "one stream": (LLAMA_8B, closed(1, 200, 400), None, ("none", "decode_floor")),
    "prefill only": (LLAMA_8B, closed(32, 6000, 1), None, ("none", "compute_bound")),
    "far above capacity": (LLAMA_8B, offered(300, 800, 200), None, ("none", "saturated")),
}


@pytest.mark.parametrize("name", SET_UPS)
def test_the_known_limit_is_named(verdict, name):
    arguments, workload, slo, expected = SET_UPS[name]
    found = verdict(arguments, workload, slo)
    assert (found.default, found.kind) == expected, found.evidence


def test_evidence_has_this_deployments_numbers(verdict):
    found = verdict(LLAMA_8B + " --max-num-seqs 4", closed(64, 300, 300))
    why, cost, *rest = found.evidence
    assert why == "max_num_seqs 4 fills first: 4 requests run and 60 wait while KV blocks are free"
    assert cost.startswith("without that limit (max_num_seqs) this load gets ")
    assert [sentence.split(" is no limit")[0].split(" are no limit")[0] for sentence in rest] == [
        "KV blocks",
        "the token budget of 8,192",
    ]


def test_gains_are_printed_for_each_of_the_three(verdict):
    found = verdict(LLAMA_8B, closed(16, 500, 200))
    assert [lift.limit.split()[0] for lift in found.lifted] == [
        "KV",
        "max_num_seqs",
        "max_num_batched_tokens",
    ]
    assert all(lift.gain < 0.05 for lift in found.lifted)


def test_a_simulator_can_take_the_place_of_the_closed_form(served):
    from scheduler_reader.performance import estimate_out_of_step

    load = closed(16, 500, 200)
    engine, plan = served(LLAMA_8B, load)
    asked = []

    def slow_host(engine, plan, workload, slo):
        asked.append(engine.get("max_num_batched_tokens"))
        found = estimate_out_of_step(engine, plan, workload, slo).value
        shares = found.shares._replace(host=0.7, memory=0.2, compute=0.1, communication=0.0)
        return Known(found._replace(shares=shares), plan)

    found = find_bottleneck(engine, plan, load, Slo(), evaluate=slow_host)
    assert isinstance(found, Known)
    assert found.value.kind == "host_bound"
    assert 512 in asked


def test_an_unknown_model_has_no_bottleneck(served):
    engine, plan = served("acme/never-heard-of-1b")
    assert isinstance(find_bottleneck(engine, plan, closed(8, 100, 100), Slo()), Unknown)


def test_next_to_no_goodput_is_none(served):
    """Of the closed form's tails something always remains: one request in a thousand decides nothing."""
    load = closed(256, 3000, 220)
    engine, plan = served(LLAMA_8B + " --max-model-len 16384 --max-num-seqs 4", load)
    slo = Slo(ttft_ms=4000, itl_ms=50)
    found = find_bottleneck(engine, plan, load, slo)
    base = estimate_out_of_step(engine, plan, load, slo)
    assert isinstance(found, Known)
    assert isinstance(base, Known)
    assert 0 < base.value.goodput_requests_per_s < 0.01 * base.value.requests_per_s
    assert {lift.metric for lift in found.value.lifted} == {"output_tokens_per_s"}
    assert found.value.kind == "admission_stall"
    assert "fewer than 1% of the requests meet the SLO" in " ".join(found.value.evidence)
