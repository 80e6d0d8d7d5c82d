"""Latency distributions of the modes as a picture, drawn by matplotlib (the extra `plot`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.simulate.comparison import TITLES
from scheduler_reader.simulate.modes import ModeRun
from scheduler_reader.simulate.study import Study

SUFFIXES = (".png", ".svg")


def check(path: Path) -> None:
    """Raise `UsageError` when the file has another suffix or matplotlib is not installed."""
    from importlib.util import find_spec

    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {path}: the name must end with {' or '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'sched-reader[plot]'")


def write(path: Path, title: str, study: Study) -> None:
    """Draw which share of requests (gaps) is below each TTFT (ITL), by mode, into `path`."""
    check(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    figure.suptitle(title)
    for axes, name, values in zip(
        figure.subplots(1, 2), ("TTFT", "ITL"), (_first_tokens, _gaps), strict=True
    ):
        for run in study.runs:
            _draw(axes, sorted(values(run)), TITLES[run.mode])
        axes.set(xscale="log", xlabel=f"{name} (ms)", ylabel="share at or below", ylim=(0, 1))
        axes.grid(visible=True, alpha=0.3)
    figure.axes[1].legend(loc="lower right", fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _draw(axes: Any, runs: list[tuple[float, int]], label: str) -> None:
    """A cumulative distribution of (value, count) pairs in rising order."""
    if not runs:
        return
    reached = list(accumulate(count for _, count in runs))
    shares = [count / reached[-1] for count in reached]
    axes.step([seconds * 1e3 for seconds, _ in runs], shares, where="post", label=label)


def _first_tokens(run: ModeRun) -> Iterable[tuple[float, int]]:
    for record in run.result.records:
        if record.first_token_s is not None:
            yield record.first_token_s - record.arrival_s, 1


def _gaps(run: ModeRun) -> Iterable[tuple[float, int]]:
    for record in run.result.records:
        yield from record.gaps
