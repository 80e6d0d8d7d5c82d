"""The report for people, on a terminal or in a log: the verdict first, one screen if all is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from scheduler_reader.assessment import Assessment
from scheduler_reader.privacy import secrets
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


def _observed(assessment: Assessment) -> Iterator[Block]:
    """What was observed; the section is loaded only where something was."""
    if assessment.observation is not None:
        from scheduler_reader.report.terminal import observed

        yield from observed.blocks(assessment)


# In reading order.
SECTIONS: Mapping[str, Callable[[Assessment], Iterator[Block]]] = {
    "header": header.blocks,
    "memory": memory.blocks,
    "performance": performance.blocks,
    "observed": _observed,
    "settings": settings.blocks,
    "findings": findings.finding_blocks,
    "tuning": findings.tuning_blocks,
    "evidence": notes.evidence_blocks,
    "limits": notes.limits_blocks,
    "next": notes.next_blocks,
}


def render(assessments: Sequence[Assessment], console: Console) -> None:
    """Print the report of every engine, one after the other, to `console`.

    Width, colours and encoding are the console's; without colour the bar is drawn in letters.
    """
    for i, assessment in enumerate(assessments):
        blocks = [BLANK] if i else []
        if len(assessments) > 1:
            blocks.append(paragraph((f"== Engine {i + 1} of {len(assessments)} ==", "head")))
        layout = Layout(console, secrets(assessment.engine))
        layout.print([*blocks, *report_blocks(assessment)])


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
    return chain.from_iterable(report_sections(assessment).values())


def report_sections(assessment: Assessment) -> dict[str, list[Block]]:
    """The same section by section, by the names of `SECTIONS`."""
    parts = {name: list(section(assessment)) for name, section in SECTIONS.items()}
    blocks: Iterator[Block] = chain.from_iterable(parts.values())
    reason = start_reason(assessment.capacity)
    if reason:
        blocks = say_once(blocks, reason, assessment.capacity.reason)
    return {name: list(islice(blocks, len(part))) for name, part in parts.items()}
