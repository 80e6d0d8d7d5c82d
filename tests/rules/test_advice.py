"""Findings heed what is already set, and what was observed."""

from __future__ import annotations

from typing import Any

import pytest

import scheduler_reader
from scheduler_reader.api import Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
CROWD = {"concurrency": 400, "num_requests": 800, "input_tokens": 6000, "output_tokens": 1500}
FULL = {"kv_cache_usage": 0.99, "waiting": 12, "running": 40}
ABOUT_BLOCKS = {"BAT104", "MEM107", "OBS102"}


def fixes(
    arguments: str, gpu: str = "h100", model: str = LLAMA_8B, **options: Any
) -> dict[str, str]:
    """Code → the fix of each finding."""
    command = ["vllm", "serve", model, *arguments.split()]
    (reading,) = scheduler_reader.diagnose(command, vllm_version="0.18.0", gpu=gpu, **options)
    return {finding.code: finding.fix_text for finding in reading.findings}


@pytest.mark.parametrize(
    ("arguments", "gpu", "is_advised"),
    [
        ("--max-model-len 8192", "h100", True),
        ("--max-model-len 8192 --kv-cache-dtype fp8", "h100", False),
        ("--max-model-len 8192", "a100", False),  # its kernels do not calculate in fp8
    ],
)
def test_an_fp8_kv_cache_is_advised_where_it_would_help(
    arguments: str, gpu: str, is_advised: bool
) -> None:
    found = fixes(arguments, gpu, workload=CROWD, observed=FULL)
    assert found.keys() >= ABOUT_BLOCKS
    assert {"fp8" in found[code] for code in ABOUT_BLOCKS} == {is_advised}


@pytest.mark.parametrize(
    ("observed", "is_found"),
    [(None, True), ({"waiting": 30}, True), ({"waiting": 0}, False), ({"running": 16}, True)],
)
def test_seats_do_not_bind_where_nobody_is_seen_to_wait(
    observed: dict[str, float] | None, is_found: bool
) -> None:
    load = {"concurrency": 64, "num_requests": 640, "input_tokens": 500, "output_tokens": 100}
    found = fixes("--max-model-len 8192 --max-num-seqs 16", workload=load, observed=observed)
    assert ("BAT101" in found) is is_found


@pytest.mark.parametrize(("objective", "is_found"), [({}, True), ({"itl_ms": 40.0}, False)])
def test_seats_that_cost_the_objective_are_not_advised(
    objective: dict[str, float], is_found: bool
) -> None:
    """48 seats give more tokens a second than 16, and 15 % of the requests that meet 40 ms."""
    load = {"concurrency": 48, "num_requests": 480, "input_tokens": 6000, "output_tokens": 400}
    found = fixes(
        "-tp 2 --max-num-seqs 16 --max-num-batched-tokens 32768 --max-model-len 8192",
        model="Qwen/Qwen3-Coder-30B-A3B-Instruct",
        workload=load,
        slo=Slo(**objective),
    )
    assert ("BAT101" in found) is is_found


def test_changes_serve_the_objective_where_the_closed_form_cannot_see_it() -> None:
    """The closed form has 40 ms missed by all; the run by none.  Changes are then judged by runs."""
    command = ["vllm", "serve", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "-tp", "2", "--max-num-seqs"]
    command += ["16", "--max-num-batched-tokens", "32768", "--max-model-len", "8192"]
    load = {"concurrency": 48, "num_requests": 480, "input_tokens": 6000, "output_tokens": 400}
    (reading,) = scheduler_reader.diagnose(
        command, vllm_version="0.18.0", gpu="h100", workload=load, slo=Slo(itl_ms=40)
    )
    assert reading.tuning
    before = reading.performance.value.goodput_requests_per_s
    for step in reading.tuning:
        assert step.before["goodput_requests_per_s"] == pytest.approx(before)
        assert step.after["goodput_requests_per_s"] > 1.03 * before
        before = step.after["goodput_requests_per_s"]
    assert reading.tuning[-1].set == {"max_num_seqs": 48}
    assert before > 1.5 * reading.performance.value.goodput_requests_per_s


def test_no_change_takes_away_what_little_meets_the_objective() -> None:
    """More seats give more tokens a second, and take the 3 % of requests within 20 ms to none."""
    command = ["vllm", "serve", "Qwen/Qwen3-32B", "-tp", "4", "--max-model-len", "32768"]
    load = {
        "concurrency": 256,
        "num_requests": 1536,
        "input_tokens": {"uniform": [2000, 4000]},
        "output_tokens": 1000,
    }
    (reading,) = scheduler_reader.diagnose(
        [*command, "--max-num-seqs", "64"],
        vllm_version="0.18.0",
        gpu="h100",
        workload=load,
        slo=Slo(itl_ms=20),
    )
    assert reading.performance.value.goodput_requests_per_s > 0
    for step in reading.tuning:
        goodput = [of["goodput_requests_per_s"] for of in (step.before, step.after)]
        assert goodput == sorted(goodput)


def test_what_would_not_start_is_read_whole_for_an_offered_rate() -> None:
    """The search for the highest rate asks the scheduler, which refuses to start."""
    command = ["vllm", "serve", LLAMA_8B, "--max-model-len", "16384", "--no-enable-chunked-prefill"]
    (reading,) = scheduler_reader.diagnose(
        [*command, "--max-num-batched-tokens", "8192"],
        vllm_version="0.25.0",
        gpu="h100",
        workload={"protocol": "open-loop", "rate": 2.6, "num_requests": 200}
        | {"input_tokens": 12_000, "output_tokens": 50},
    )
    assert "CMB001" in {finding.code for finding in reading.findings}
    assert reading.performance.value.requests_per_s > 0


def test_the_first_change_is_the_one_that_the_verdict_names() -> None:
    """A budget of 256 serves 35 times as many within 60 ms; more seats gain 39 % of next to none."""
    command = ["vllm", "serve", "Qwen/Qwen3-32B", "-pp", "2", "--max-model-len", "16384"]
    load = {"concurrency": 48, "num_requests": 480, "input_tokens": 2000, "output_tokens": 300}
    (reading,) = scheduler_reader.diagnose(
        [*command, "--max-num-seqs", "24"],
        vllm_version="0.17.1",
        gpu="h100",
        workload=load,
        slo=Slo(itl_ms=60),
    )
    assert reading.bottleneck.value.kind == "chunk_too_large"
    assert "max_num_batched_tokens" in reading.tuning[0].set
    assert reading.tuning[0].after["goodput_requests_per_s"] > 1
