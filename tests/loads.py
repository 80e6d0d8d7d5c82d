"""Loads of fixed lengths, as the tests of every stage after resolve state them."""

from __future__ import annotations

from typing import Any

from scheduler_reader.workload import Lengths, Workload


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
