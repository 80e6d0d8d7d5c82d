"""docs/accuracy.md and its scatter plot: predictions against published serving runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pages.markdown import page, table
from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Lengths, Slo, Workload

ROOM = 256  # tokens of max_model_len beyond input and output
SHORTEST = 0.8  # lengths are uniform from this share of the nominal one up to it
INTRODUCTION = """\
Every public run that is recorded in `tests/performance/published_runs.yaml` (numbers and sources there) against what
`diagnose` predicts for it, with the load protocol stated and nothing else but the arguments shown. Errors are relative,
(predicted - measured) / measured; tokens/s of both sides come from their own TTFT and TPOT, since most sources give no other.
Some constants were fitted on some of these runs: `compat_matrix/host.yaml` and `compat_matrix/efficiency/` say which."""


class Case(NamedTuple):
    """One published run and its prediction, milliseconds; `predicted` None: none was made."""

    series: str
    tensor: int
    lengths: tuple[int, int]
    concurrency: int
    measured: tuple[float, float]  # TTFT, TPOT
    predicted: tuple[float, float] | None
    remark: str

    @property
    def errors(self) -> tuple[float, float, float] | None:
        """Relative errors of TTFT, TPOT and tokens/s."""
        if self.predicted is None:
            return None
        ttft, tpot = (p / m - 1 for p, m in zip(self.predicted, self.measured, strict=True))
        return ttft, tpot, self._duration(self.measured) / self._duration(self.predicted) - 1

    def _duration(self, times: tuple[float, float]) -> float:
        gaps = (1 + SHORTEST) / 2 * self.lengths[1] - 1
        return times[0] + gaps * times[1]


def predicted_cases(document: dict[str, Any]) -> list[Case]:
    """Predict every run of a document."""
    return [_predicted(series, run) for series in document["series"] for run in series["runs"]]


def accuracy_page(cases: Sequence[Case], notes: Iterable[str]) -> str:
    """The page."""
    names = list(dict.fromkeys(case.series for case in cases))
    by_ranks = {
        (name, ranks): [c for c in cases if (c.series, c.tensor) == (name, ranks)]
        for name in names
        for ranks in sorted({c.tensor for c in cases if c.series == name})
    }
    head = ("model, release, GPU", "TP", "runs", "TTFT", "TPOT", "tokens/s")
    summary = [(name, str(ranks), *_summary(group)) for (name, ranks), group in by_ranks.items()]
    whole = [(f"**all on {gpu}**", "", *_summary(group)) for gpu, group in _by_gpu(cases).items()]
    sections = [_section(name, [c for c in cases if c.series == name]) for name in names]
    return page(
        "# How accurate predictions are",
        "Written by `python tools/accuracy.py`; edit the data or that tool instead.",
        INTRODUCTION,
        "Median / 90th percentile of the absolute error:",
        table(head, summary + whole),
        "![Predicted against measured](accuracy.svg)",
        "## What misses, and what is known of it",
        "\n".join(f"- {note}" for note in notes),
        *sections,
    )


def scatter(cases: Sequence[Case]) -> str:
    """An SVG of TTFT and TPOT, predicted over measured, both axes logarithmic."""
    panels = [_panel(cases, index, 40 + 420 * index) for index in (0, 1)]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="440" font-family="sans-serif" '
        'font-size="12">\n<rect width="860" height="440" fill="white"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _predicted(series: dict[str, Any], run: Sequence[float]) -> Case:
    tensor, inputs, outputs, concurrency = (int(number) for number in run[:4])
    load = Workload(
        concurrency=concurrency,
        num_requests=10 * concurrency,
        input_tokens=Lengths(uniform=(round(SHORTEST * inputs), inputs)),
        output_tokens=Lengths(uniform=(round(SHORTEST * outputs), outputs)),
    )
    arguments = series.get("arguments", "").format(concurrency=concurrency).split()
    length = ["--max-model-len", str(inputs + outputs + ROOM)]
    command = ["vllm", "serve", series["model"], "-tp", str(tensor), *length, *arguments]
    target = ResolveOptions(series["vllm"], series["gpu"], tensor)
    engine = resolve(parse_command(command).engines[0], target)
    found = simulated_estimate(engine, plan_capacity(engine, load), load, Slo())
    name = f"{series['model']}, {series['vllm']}, {engine.hardware.gpu.title}"
    measured = (run[4], run[5])
    if isinstance(found, Unknown):
        return Case(name, tensor, (inputs, outputs), concurrency, measured, None, found.reason)
    estimate = found.value
    remark = next((note for note in estimate.not_modeled if "not simulated" in note), "")
    predicted = (estimate.ttft_ms.mean, estimate.tpot_ms)
    return Case(name, tensor, (inputs, outputs), concurrency, measured, predicted, remark)


def _by_gpu(cases: Sequence[Case]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.series.rsplit(", ", 1)[1], []).append(case)
    return groups


def _summary(cases: Sequence[Case]) -> list[str]:
    errors = [case.errors for case in cases if case.errors is not None]
    answered = str(len(errors)) if len(errors) == len(cases) else f"{len(errors)} of {len(cases)}"
    return [answered, *(_spread([abs(error[at]) for error in errors]) for at in range(3))]


def _spread(errors: list[float]) -> str:
    if not errors:
        return ""
    ordered = sorted(errors)
    middle, tenth = (ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.9))
    return f"{middle:.1%} / {tenth:.1%}"


def _section(name: str, cases: Sequence[Case]) -> str:
    head = ("TP", "input/output", "concurrent", "TTFT ms", "predicted", "TPOT ms", "predicted", "")
    return f"## {name}\n\n{table(head, map(_row, cases))}"


def _row(case: Case) -> list[str]:
    lengths = f"{case.lengths[0]:,}/{case.lengths[1]:,}"
    cells = [str(case.tensor), lengths, str(case.concurrency)]
    for at in (0, 1):
        cells.append(f"{case.measured[at]:,.1f}")
        if case.predicted is None or case.errors is None:
            cells.append("none")
        else:
            cells.append(f"{case.predicted[at]:,.1f} ({case.errors[at]:+.0%})")
    return [*cells, case.remark]


def _panel(cases: Sequence[Case], at: int, left: int) -> str:
    points = [(c.measured[at], c.predicted[at]) for c in cases if c.predicted is not None]
    low = math.floor(math.log10(min(map(min, points))))
    high = math.ceil(math.log10(max(map(max, points))))

    def place(value: float) -> float:
        return 360 * (math.log10(value) - low) / (high - low)

    def x(value: float) -> float:
        return left + place(value)

    def y(value: float) -> float:
        return 400 - place(value)

    lines = [
        f'<rect x="{left}" y="40" width="360" height="360" fill="none" stroke="#888"/>',
        f'<line x1="{left}" y1="400" x2="{left + 360}" y2="40" stroke="#888"/>',
        f'<text x="{left}" y="28">{("TTFT", "TPOT")[at]} in ms: predicted (up) over measured</text>',
    ]
    for power in range(low, high + 1):
        lines.append(f'<text x="{x(10**power) - 8:.0f}" y="416">{10.0**power:,g}</text>')
        lines.append(f'<text x="{left - 38}" y="{y(10**power) + 4:.0f}">{10.0**power:,g}</text>')
    for measured, found in points:
        lines.append(
            f'<circle cx="{x(measured):.1f}" cy="{y(found):.1f}" r="2.5" fill="#1764ab" fill-opacity="0.6"/>'
        )
    return "\n".join(lines)
