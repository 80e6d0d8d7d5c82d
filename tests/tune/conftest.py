"""Searches in this process, small enough for a test."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.tune.point import Case
from scheduler_reader.tune.result import Tuned
from scheduler_reader.tune.store import Store
from scheduler_reader.tune.sweep import sweep
from scheduler_reader.tune.tuner import Wishes, case_of
from scheduler_reader.workload import Lengths, Slo, Workload

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LOAD = Workload(
    concurrency=64,
    num_requests=192,
    input_tokens=Lengths(constant=1000),
    output_tokens=Lengths(constant=100),
)


@pytest.fixture(scope="session")
def case() -> Callable[..., Case]:
    """`case("MODEL --max-num-seqs 4", LOAD, gpu="h100")`: one engine and what is asked of it."""

    def build(
        arguments: str,
        load: Workload | None = LOAD,
        slo: Slo | None = None,
        *,
        version: str = "0.18.0",
        gpu: str = "h100",
        gpu_count: int | None = None,
    ) -> Case:
        parsed = parse_command(["vllm", "serve", *shlex.split(arguments)]).engines[0]
        target = ResolveOptions(version, gpu, gpu_count)
        return case_of(parsed, Request(target=target, workload=load, slo=slo or Slo()))

    return build


@pytest.fixture(scope="session")
def tuned(case: Callable[..., Case]) -> Callable[..., Tuned]:
    """`tuned("MODEL …", LOAD, wishes=Wishes(…))`: the answer of one search."""

    def run(arguments: str, *stated: object, wishes: Wishes | None = None, **at: object) -> Tuned:
        return sweep([case(arguments, *stated, **at)], wishes or Wishes(), Store({}))[0]

    return run
