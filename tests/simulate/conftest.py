"""Small cases, and the decisions a release takes on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.case import read_case
from scheduler_reader.simulate.steps import replay

Row = dict[str, Any]


@pytest.fixture(scope="session")
def steps() -> Callable[..., list[Row]]:
    """`steps([(prompt, output), …], version="0.33.0", budget=64, …)`: the trace of these requests.

    A request is (prompt, output), (prompt, output, arrival) or a row of the case format.  Without
    further options: 8 sequences, 64-token budget, blocks of 16, plenty of them, no prefix caching.
    """

    def run(
        requests: list[tuple[int, ...] | Row], version: str = "0.33.0", **options: Any
    ) -> list[Row]:
        engine = {
            "max_num_seqs": 8,
            "max_num_batched_tokens": 64,
            "max_model_len": 512,
            "num_gpu_blocks": 1000,
            "enable_prefix_caching": False,
            "max_steps": 400,
        } | options
        rows = [_row(request) for request in requests]
        release = Release(version)
        case = read_case(json.dumps({"engine": engine, "requests": rows}), release)
        return replay(case, release).steps

    return run


def _row(request: tuple[int, ...] | Row) -> Row:
    if isinstance(request, dict):
        return {"arrival_step": 0} | request
    prompt, output, *arrival = request
    return {
        "prompt_len": prompt,
        "output_len": output,
        "arrival_step": arrival[0] if arrival else 0,
    }
