"""The predicted latencies and rates, with their range, for the workload they hold for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.performance.estimate import Latency, PerformanceEstimate
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.value import Unknown

_RATES: tuple[tuple[str, Callable[[PerformanceEstimate], float]], ...] = (
    ("output tokens/s", lambda estimate: estimate.output_tokens_per_s),
    ("requests/s", lambda estimate: estimate.requests_per_s),
)


def blocks(assessment: Assessment) -> Iterator[Block]:
    """The prediction as a table, or why there is none."""
    yield BLANK
    prediction = assessment.performance
    if isinstance(prediction, Unknown):
        dead = assessment.capacity.starts is False
        reason = "the engine does not start" if dead else prediction.reason
        yield heading("Prediction: ", f"none, {reason}")
        return
    estimate = prediction.value
    yield heading("Prediction: ", wording.workload_text(assessment.workload))
    yield Columns(tuple(_rows(estimate, assessment)), "lrrrl")
    if estimate.saturated:
        yield paragraph((_saturation(estimate, assessment), "warning"), indent=2, hang=2)
    yield paragraph(_queues(estimate), indent=2, hang=2)


def _rows(estimate: PerformanceEstimate, assessment: Assessment) -> Iterator[tuple[Span, ...]]:
    has_range = estimate.low is not None and estimate.high is not None
    titles = ("", "mean", "p50", "p99", "low – high" if has_range else "")
    yield tuple((title, "dim") for title in titles)
    yield _latency_row("TTFT", estimate, lambda e: e.ttft_ms)
    yield _latency_row("ITL", estimate, lambda e: e.itl_ms)
    yield _row(
        "TPOT",
        wording.duration(estimate.tpot_ms),
        "",
        "",
        _range(estimate, _tpot, wording.duration),
    )
    for title, measure in _RATES:
        spread = _range(estimate, measure, wording.rate)
        yield _row(title, wording.rate(measure(estimate)), "", "", spread)
    if assessment.slo.is_set:
        # Without a range: those of times and rates tell nothing of who is within an objective.
        yield _row("goodput req/s", wording.rate(estimate.goodput_requests_per_s), "", "", "")


def _latency_row(
    title: str, estimate: PerformanceEstimate, latency: Callable[[PerformanceEstimate], Latency]
) -> tuple[Span, ...]:
    value = latency(estimate)
    tail = [
        ("saturated" if estimate.saturated else "") if ms is None else wording.duration(ms)
        for ms in (value.p50, value.p99)
    ]
    spread = _range(estimate, lambda e: latency(e).mean, wording.duration)
    return _row(title, wording.duration(value.mean), *tail, spread)


def _row(*cells: str) -> tuple[Span, ...]:
    return tuple((cell, "") for cell in cells)


def _tpot(estimate: PerformanceEstimate) -> float:
    return estimate.tpot_ms


def _range(
    estimate: PerformanceEstimate,
    measure: Callable[[PerformanceEstimate], float],
    text: Callable[[float], str],
) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    smallest, largest = sorted((measure(estimate.low), measure(estimate.high)))
    return f"{text(smallest)} – {text(largest)}"


def _saturation(estimate: PerformanceEstimate, assessment: Assessment) -> str:
    offered = assessment.workload.rate
    capacity = estimate.capacity_requests_per_s
    if offered is None or capacity is None:
        return "Saturated: the queue grows without end, no latency tail can be given."
    return (
        f"Saturated: {wording.rate(offered)} requests/s are offered, {wording.rate(capacity)} "
        f"can be served; the queue grows by {wording.rate(max(0.0, offered - capacity))} a second."
    )


def _queues(estimate: PerformanceEstimate) -> str:
    """Running and waiting requests, preemptions, and the floor of one stream."""
    parts = [
        f"{wording.count(round(estimate.running, int(estimate.running < 10)))} running",
        f"{wording.count(round(estimate.waiting, 1))} waiting",
        f"{wording.count(round(estimate.preemptions_per_request, 2))} preemptions/request",
        f"ITL floor {wording.duration(estimate.floor.itl_ms)} ({estimate.floor.bound})",
    ]
    return " · ".join(parts)
