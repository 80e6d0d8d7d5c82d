"""The comparison of modes for a terminal or a log: table, where gaps come from, timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scheduler_reader.report.simulation import timeline
from scheduler_reader.report.simulation.rows import HEAD, cells
from scheduler_reader.report.simulation.simulated import Simulated
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Paragraph, Span
from scheduler_reader.report.terminal.layout import STYLES, Layout
from scheduler_reader.report.wording import workload_text
from scheduler_reader.simulate.comparison import TITLES
from scheduler_reader.simulate.modes import ModeRun
from scheduler_reader.simulate.study import Study

if TYPE_CHECKING:
    from rich.console import Console

ROWS = 16  # requests of the timeline


def render(simulated: Simulated, console: Console) -> None:
    """Print one engine's study, or why there is none."""
    from rich.text import Text

    layout = Layout(console)
    layout.print(_blocks(simulated))
    if simulated.study is None or not simulated.study.runs:
        return
    run = simulated.study.runs[-1]
    if not run.result.phases:
        return
    glyphs = timeline.BLOCKS if layout.is_unicode else timeline.ASCII
    layout.print((BLANK, Paragraph(((f"{TITLES[run.mode]} over time", "head"),))))
    for spans in timeline.lines(run.result, layout.width, ROWS, glyphs):
        row = Text.assemble(*((text, STYLES[style]) for text, style in spans))
        row.rstrip()
        console.print(row, soft_wrap=True)


def _blocks(simulated: Simulated) -> Iterator[Block]:
    yield Paragraph(((simulated.title, "head"),))
    if simulated.study is None:
        yield Paragraph((("not simulated: ", "error"), (simulated.reason, "")), hang=2)
        return
    yield from _study_blocks(simulated.study)
    for assumption in simulated.assumptions:
        yield Paragraph((("Assumed: ", "head"), (assumption, "")), hang=2)


def _study_blocks(study: Study) -> Iterator[Block]:
    yield Paragraph(((workload_text(study.setup.workload), "dim"),))
    yield BLANK
    head: tuple[Span, ...] = tuple((name, "dim") for name in ("", *HEAD))
    yield Columns((head, *map(_row, study.runs)), "lrrrrrrr", indent=0)
    if study.slo.is_set:
        for run in study.runs:
            rate = run.metrics.goodput_requests_per_s
            yield Paragraph(((f"goodput, {TITLES[run.mode]}: {rate:.2f} requests/s", ""),))
    yield BLANK
    for sentence in study.sentences:
        yield Paragraph(((sentence, ""),), hang=2)
    for note in study.notes:
        yield Paragraph((("note: ", "note"), (note, "")), hang=2)


def _row(run: ModeRun) -> tuple[Span, ...]:
    return ((TITLES[run.mode], "head"), *((cell, "") for cell in cells(run)))
