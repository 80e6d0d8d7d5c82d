"""Loads of fixed lengths, as the tests of every stage after resolve state them."""

from __future__ import annotations

from typing import Any

from scheduler_reader.workload import Lengths, Workload

# A result of `vllm bench serve --save-result`: eight clients, 600 tokens in, 150 out.
BENCH = {
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 40,
    "request_rate": "inf",
    "max_concurrency": 8,
    "completed": 40,
    "total_input_tokens": 40 * 600,
    "total_output_tokens": 40 * 150,
    "request_throughput": 4.8,
    "output_throughput": 720.0,
    "total_token_throughput": 3600.0,
    "mean_ttft_ms": 95.0,
    "mean_tpot_ms": 10.4,
}


def closed(concurrency: int, prompt: int, output: int, **more: Any) -> Workload:
    """So many clients, each of which sends its next request when its last one is through."""
    stated: dict[str, Any] = {"num_requests": 10 * concurrency, **more}
    return Workload(
        concurrency=concurrency,
        input_tokens=Lengths(constant=prompt),
        output_tokens=Lengths(constant=output),
        **stated,
    )


def offered(rate: float, prompt: int, output: int, requests: int = 300) -> Workload:
    """So many requests a second, whatever the engine makes of them."""
    return Workload(
        protocol="open-loop",
        rate=rate,
        num_requests=requests,
        input_tokens=Lengths(constant=prompt),
        output_tokens=Lengths(constant=output),
    )
