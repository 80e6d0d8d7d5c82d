"""What one diagnosis of a stated load costs, counted in calls and bytes: a clock would flicker."""

from __future__ import annotations

import shlex
import sys
import tracemalloc
from types import FrameType

import pytest

from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request, assess
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo, Workload

LLAMA_8B = "vllm serve meta-llama/Llama-3.1-8B-Instruct"
# A second of an idle core makes some five million calls; measured: 0.5 to 1.9 million.
MOST_CALLS = 3_000_000
MOST_BYTES = 30_000_000  # measured: 4 million at most
LOADS = {
    "seats are short": (LLAMA_8B + " --max-num-seqs 16", {"seed": 1}, Slo()),
    "blocks are short": (
        LLAMA_8B + " --gpu-memory-utilization 0.26 --max-model-len 8192",
        {"seed": 1},
        Slo(),
    ),
    "prefixes are shared and blocks are short": (
        LLAMA_8B + " --gpu-memory-utilization 0.26 --max-model-len 8192",
        {"seed": 1, "prefix_cache_hit_rate": 0.5},
        Slo(itl_ms=30),
    ),
    "thousands of preemptions": (
        LLAMA_8B + " --gpu-memory-utilization 0.26 --max-model-len 8192",
        {"input_tokens": 128, "output_tokens": 4096},
        Slo(),
    ),
    "an open loop above its capacity": (
        LLAMA_8B,
        {"protocol": "open-loop", "rate": 30.0},
        Slo(ttft_ms=500, itl_ms=30),
    ),
}


@pytest.mark.parametrize("name", LOADS)
def test_one_diagnosis_of_640_requests_is_a_second_of_work(name: str) -> None:
    command, changes, slo = LOADS[name]
    (engine,) = parse_command(shlex.split(command)).engines
    workload: Workload = DEFAULT_WORKLOAD.replaced(changes)
    assert workload.num_requests == 640
    request = Request(ResolveOptions("0.18.0", "h100"), workload, slo)
    assess(engine, request)  # modules and data are loaded
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assess(engine, request)
    finally:
        sys.setprofile(None)
    tracemalloc.start()
    try:
        assess(engine, request)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert calls < MOST_CALLS
    assert peak < MOST_BYTES
