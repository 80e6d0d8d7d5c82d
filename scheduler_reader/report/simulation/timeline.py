"""A run over time in a terminal: one line a request, KV use and queue depth below.

A column is a stretch of time.  It shows preemption or prefill if there was any in it, so that a
chunk is not lost between decodes; else what took longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_reader.record import Record
from scheduler_reader.report.terminal.blocks import Span
from scheduler_reader.simulate.result import Phase, SimulationResult

LABEL = 7  # columns before the time axis
RARE_FIRST = ("preempted", "prefill")  # shown even when short
STYLES = {"waiting": "dim", "prefill": "warning", "decode": "good", "preempted": "error"}


class Glyphs(Record):
    """How the kinds of time are drawn, and levels from nothing to full."""

    waiting: str
    prefill: str
    decode: str
    preempted: str
    levels: str


BLOCKS = Glyphs("·", "▒", "█", "x", " ▁▂▃▄▅▆▇█")
ASCII = Glyphs(".", "p", "=", "x", " 123456789")


def lines(
    result: SimulationResult, width: int, rows: int, glyphs: Glyphs
) -> Iterator[tuple[Span, ...]]:
    """The timeline in lines of at most `width` columns, at most `rows` of them requests."""
    columns = width - LABEL - 1
    end_s = result.duration_s
    if end_s <= 0 or columns < 10:
        return
    shown = spread([record.number for record in result.records], rows)
    by_number: dict[int, list[Phase]] = {number: [] for number in shown}
    for phase in result.phases:
        if phase.number in by_number:
            by_number[phase.number].append(phase)
    yield _axis(end_s, columns)
    for number, phases in by_number.items():
        yield ((f"{number:>{LABEL - 1}} ", "dim"), *_row(phases, end_s / columns, columns, glyphs))
    usable = max(result.num_blocks - 1, 1)
    used = highest(result, [sample.used_blocks for sample in result.samples], columns)
    waiting = highest(result, [sample.waiting for sample in result.samples], columns)
    yield (("    KV ", "dim"), (_levels(used, usable, glyphs), "note"))
    yield (("  wait ", "dim"), (_levels(waiting, max(*waiting, 1), glyphs), "note"))
    legend = "  ".join(f"{getattr(glyphs, kind)} {kind}" for kind in STYLES)
    peaks = f"KV: at most {max(used) / usable:.0%} of {usable:,} blocks; waiting: at most {max(waiting):,}"
    for line in (legend, peaks):
        yield ((" " * LABEL + line, ""),)


def spread(numbers: Sequence[int], most: int) -> list[int]:
    """At most so many numbers, evenly from first to last."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[i * (len(numbers) - 1) // (most - 1)] for i in range(most)]


def _axis(end_s: float, columns: int) -> tuple[Span, ...]:
    middle, end = f"{end_s / 2:.3g} s", f"{end_s:.3g} s"
    line = f"{'0':<{columns // 2}}{middle:<{columns - columns // 2 - len(end)}}{end}"
    return ((" " * LABEL + line, "dim"),)


def _row(phases: Sequence[Phase], column_s: float, columns: int, glyphs: Glyphs) -> Iterator[Span]:
    """Spans of equal kind."""
    cells: list[dict[str, float]] = [{} for _ in range(columns)]
    for phase in phases:
        first = min(int(phase.start_s / column_s), columns - 1)
        last = min(int(phase.end_s / column_s), columns - 1)
        for column in range(first, last + 1):
            start_s, end_s = column * column_s, (column + 1) * column_s
            overlap_s = min(phase.end_s, end_s) - max(phase.start_s, start_s)
            if overlap_s > 0:
                cell = cells[column]
                cell[phase.kind] = cell.get(phase.kind, 0.0) + overlap_s
    for cell in cells:
        kind = next((each for each in RARE_FIRST if each in cell), None)
        kind = kind or max(cell, key=cell.__getitem__, default=None)
        yield (" ", "") if kind is None else (getattr(glyphs, kind), STYLES[kind])


def highest(result: SimulationResult, values: Sequence[int], columns: int) -> list[int]:
    """The highest of the samples' values in each column."""
    found = [0] * columns
    scale = columns / result.duration_s
    times = [sample.time_s for sample in result.samples]
    for value, start_s, end_s in zip(values, times, [*times[1:], result.duration_s], strict=True):
        first = min(int(start_s * scale), columns - 1)
        for column in range(first, max(min(int(end_s * scale), columns), first + 1)):
            found[column] = max(found[column], value)
    return found


def _levels(values: Sequence[int], full: int, glyphs: Glyphs) -> str:
    top = len(glyphs.levels) - 1
    return "".join(
        glyphs.levels[0 if value <= 0 else max(1, round(min(value / full, 1.0) * top))]
        for value in values
    )
