"""The cells of the comparison table, the same for every format that people read."""

from __future__ import annotations

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


def milliseconds(value: float | None) -> str:
    """`41 ms`, from ten seconds on in seconds; `-` where there is none."""
    if value is None:
        return "-"
    return f"{value / 1e3:,.1f} s" if value >= 10_000 else f"{value:,.0f} ms"
