"""The cells of the comparison table, the same for every format that people read."""

from __future__ import annotations

from scheduler_reader.simulate.comparison import milliseconds
from scheduler_reader.simulate.modes import ModeRun

HEAD = ("tokens/s", "TTFT mean", "p99", "ITL p99", "padding", "KV waste", "preempted")


def cells(run: ModeRun) -> tuple[str, ...]:
    """What stands under `HEAD`, in its order."""
    metrics = run.metrics
    return (
        f"{metrics.output_tokens_per_s:,.0f}",
        milliseconds(metrics.ttft_ms and metrics.ttft_ms.mean),
        milliseconds(metrics.ttft_ms and metrics.ttft_ms.p99),
        milliseconds(metrics.itl_ms and metrics.itl_ms.p99),
        f"{run.padding_waste:.1%}",
        f"{metrics.kv_waste:.1%}",
        f"{metrics.preemptions:,}",
    )
