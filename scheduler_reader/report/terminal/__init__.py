"""The report for people, on a terminal or in a log: the verdict first, one screen if all is well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scheduler_reader.assessment import Assessment
from scheduler_reader.report.privacy import secrets
from scheduler_reader.report.terminal import (
    findings,
    header,
    memory,
    notes,
    performance,
    settings,
)
from scheduler_reader.report.terminal.blocks import BLANK, Block, paragraph, say_once
from scheduler_reader.report.terminal.layout import Layout
from scheduler_reader.report.wording import start_reason

if TYPE_CHECKING:
    from rich.console import Console


def render(assessments: Sequence[Assessment], console: Console) -> None:
    """Print the report of every engine, one after the other, to `console`.

    Width, colours and encoding are the console's; without colour the bar is drawn in letters.
    """
    for i, assessment in enumerate(assessments):
        layout = Layout(console, secrets(assessment.engine))
        blocks = [BLANK] if i else []
        if len(assessments) > 1:
            blocks.append(paragraph((f"== Engine {i + 1} of {len(assessments)} ==", "head")))
        for block in [*blocks, *report_blocks(assessment)]:
            for line in layout.lines(block):
                console.print(line, soft_wrap=True)


def text(assessments: Sequence[Assessment], width: int = 80, color: bool = False) -> str:
    """The report as a string of at most `width` columns."""
    from io import StringIO

    from rich.console import Console

    target = StringIO()
    render(
        assessments,
        Console(
            file=target,
            width=width,
            force_terminal=color,
            color_system="standard" if color else None,
            legacy_windows=False,
            _environ={},
        ),
    )
    return target.getvalue()


def report_blocks(assessment: Assessment) -> Iterator[Block]:
    """The sections of one engine's report, in reading order; a long reason is given once."""
    reason = start_reason(assessment.capacity)
    sections = _sections(assessment)
    return say_once(sections, reason, assessment.capacity.reason) if reason else sections


def _sections(assessment: Assessment) -> Iterator[Block]:
    yield from header.blocks(assessment)
    yield from memory.blocks(assessment)
    yield from performance.blocks(assessment)
    yield from settings.blocks(assessment)
    yield from findings.finding_blocks(assessment)
    yield from findings.tuning_blocks(assessment)
    yield from notes.evidence_blocks(assessment)
    yield from notes.limits_blocks(assessment)
    yield from notes.next_blocks(assessment)
