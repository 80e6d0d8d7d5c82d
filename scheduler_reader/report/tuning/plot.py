"""The front as a picture: throughput against the 99th percentiles, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.report.simulation.plot import check
from scheduler_reader.tune.result import Spot, Tuned

WIDE = 5  # the ratio of values from which an axis is logarithmic
PANELS = (("TTFT", "ttft_p99_ms"), ("ITL", "itl_p99_ms"))


def write(path: Path, title: str, tuned: Tuned) -> None:
    """Draw the front into `path`, the same bytes for the same front."""
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    figure.suptitle(title)
    for axes, (name, metric) in zip(figure.subplots(1, 2, sharey=True), PANELS, strict=True):
        _draw(axes, tuned.front, metric)
        axes.set(xlabel=f"{name} p99 (ms)")
        axes.grid(visible=True, alpha=0.3)
    figure.axes[0].set(ylabel="output tokens/s")
    marks = figure.axes[0].get_legend_handles_labels()
    figure.legend(*marks, loc="outside lower center", ncols=2, fontsize="small")  # over no point
    metadata: Any = {"Date": None} if path.suffix.lower() == ".svg" else {}
    try:
        with rc_context({"svg.hashsalt": "sched-reader"}):
            figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _draw(axes: Any, spots: tuple[Spot, ...], metric: str) -> None:
    """All spots, those that no other beats in this panel joined, now and the proposed one marked."""
    known = [
        (spot.point.figures[metric], spot.point.figures["output_tokens_per_s"], spot)
        for spot in spots
        if spot.point.figures.get(metric) is not None
    ]
    _scale(axes, [x or 0.0 for x, _, _ in known])
    axes.scatter([x for x, _, _ in known], [y for _, y, _ in known], s=18, color="0.6", zorder=2)
    edge = _edge([(x or 0.0, y or 0.0) for x, y, _ in known])
    axes.plot(*zip(*edge, strict=True), color="0.6", linewidth=1, zorder=1)
    marks = (("now", "is_current", "C3", "X"), ("proposed", "is_proposed", "C0", "o"))
    for label, attribute, colour, marker in marks:
        chosen = [(x, y) for x, y, spot in known if getattr(spot, attribute)]
        if chosen:
            axes.scatter(
                *zip(*chosen, strict=True), s=70, color=colour, marker=marker, label=label, zorder=3
            )


def _scale(axes: Any, values: list[float]) -> None:
    """A logarithmic axis where the values are far apart, with plain numbers on it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if values and max(values) > WIDE * min(values) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _edge(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of one panel with more throughput than every quicker one, from quick to slow."""
    edge: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not edge or y > edge[-1][1]:
            edge.append((x, y))
    return edge or [(float("nan"), float("nan"))]
