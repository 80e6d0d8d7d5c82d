"""The timeline of a run as a picture in a page that runs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from scheduler_reader.report.simulation.timeline import highest, spread
from scheduler_reader.report.wording import duration, plural
from scheduler_reader.simulate.result import Phase, SimulationResult

KINDS = ("waiting", "prefill", "decode", "preempted")
MOST_ROWS = 48
ROW = 10  # pixels
WIDTH = 1000.0  # units of the picture's width, whatever it is on the screen
COLUMNS = 400  # of the levels below


def draw(result: SimulationResult) -> str:
    """Requests over time, and the KV blocks in use and the queue below; empty for no time at all."""
    if result.duration_s <= 0:
        return ""
    numbers = spread([record.number for record in result.records], MOST_ROWS)
    usable = max(result.num_blocks - 1, 1)
    used = highest(result, [sample.used_blocks for sample in result.samples], COLUMNS)
    waiting = highest(result, [sample.waiting for sample in result.samples], COLUMNS)
    labels = "".join(f"<span>{number}</span>" for number in numbers)
    legend = "".join(f'<li><i class="t-{kind}"></i>{kind}</li>' for kind in KINDS)
    return "\n".join(
        (
            f'<ul class="legend">{legend}</ul>',
            '<div class="timeline">',
            f'<div class="labels">{labels}</div>',
            _requests(result, numbers),
            f'<div class="name">KV</div>{_levels(used, usable)}',
            f'<div class="name">queue</div>{_levels(waiting, max(*waiting, 1))}',
            f'<div></div><div class="axis">{_axis(result.duration_s)}</div>',
            "</div>",
            f'<p class="dim">KV: at most {max(used) / usable:.0%} of {usable:,} blocks; '
            f"waiting: at most {plural(max(waiting), 'request')}; "
            f"{plural(result.preemptions, 'preemption')}.</p>",
        )
    )


def _requests(result: SimulationResult, numbers: Sequence[int]) -> str:
    rows: dict[int, list[Phase]] = {number: [] for number in numbers}
    for phase in result.phases:
        if phase.number in rows:
            rows[phase.number].append(phase)
    scale = WIDTH / result.duration_s
    rects = "".join(
        _rect(phase, row * ROW, scale)
        for row, phases in enumerate(rows.values())
        for phase in _joined(phases)
    )
    return _picture(len(numbers) * ROW, rects, f"{len(numbers)} requests over time")


def _joined(phases: Sequence[Phase]) -> Iterator[Phase]:
    """Phases of one kind that follow each other as one: the chunks of a prompt."""
    last: Phase | None = None
    for phase in phases:
        if last is not None and last.kind == phase.kind and phase.start_s <= last.end_s:
            last = last._replace(end_s=phase.end_s, tokens=last.tokens + phase.tokens)
            continue
        if last is not None:
            yield last
        last = phase
    if last is not None:
        yield last


def _rect(phase: Phase, top: int, scale: float) -> str:
    tokens = f", {phase.tokens:,} tokens" if phase.tokens else ""
    said = f"request {phase.number}: {phase.kind} {phase.start_s:.3f}–{phase.end_s:.3f} s{tokens}"
    width = max((phase.end_s - phase.start_s) * scale, 0.4)
    return (
        f'<rect class="t-{phase.kind}" x="{phase.start_s * scale:.2f}" y="{top + 1}" '
        f'width="{width:.2f}" height="{ROW - 2}"><title>{escape(said)}</title></rect>'
    )


def _levels(values: Sequence[int], full: int) -> str:
    """Heights of equal columns, as one outline."""
    step, height = WIDTH / len(values), 3 * ROW
    outline = "".join(
        f"V{height * (1 - min(value / full, 1.0)):.1f}H{(i + 1) * step:.1f}"
        for i, value in enumerate(values)
    )
    said = f"at most {max(values):,} of {full:,}"
    return _picture(height, f'<path class="t-level" d="M0 {height}{outline}V{height}Z"/>', said)


def _picture(height: int, content: str, said: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(said)}" height="{height}" preserveAspectRatio="none" '
        f'viewBox="0 0 {WIDTH:g} {height}">{content}</svg>'
    )


def _axis(end_s: float) -> str:
    return f"<span>0</span><span>{duration(end_s * 500)}</span><span>{duration(end_s * 1e3)}</span>"
