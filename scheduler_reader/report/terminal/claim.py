"""The verdict on a quoted figure for people: `sched-reader explain tokens-per-second`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_reader.claims.claim import Verdict
from scheduler_reader.report import claim as words
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, heading, paragraph

STYLES = {"yes": "good", "borderline": "warning", "no": "error"}


def blocks(verdict: Verdict) -> Iterator[Block]:
    """What is said, what comes of it case by case, and what it was computed from."""
    claim = verdict.claim
    yield heading(claim.name, f"  quoted: {words.quoted(claim)}")
    yield paragraph(claim.says, indent=2)
    yield BLANK
    yield paragraph(verdict.sentence, hang=2)
    rows = [words.row(claim, answer) for answer in verdict.answers]
    yield Columns(
        tuple(
            ((label, ""), (figure, "set"), (answer, STYLES[answer]), (beside, "dim"))
            for label, figure, answer, beside in rows
        ),
        "llll",
    )
    yield BLANK
    yield paragraph(" ".join(claim.but.split()), indent=2)
    yield _table([("source", claim.source)])
    engines = words.engines(verdict)
    if engines:
        yield BLANK
        yield heading("Computed for")
        yield _table(
            [
                *(("engine", engine) for engine in engines),
                *(("load", load) for load in words.workloads(verdict)),
            ]
        )


def _table(rows: Sequence[tuple[str, str]]) -> Columns:
    return Columns(
        tuple(((name, "dim"), (" ".join(text.split()), "")) for name, text in rows), "ll"
    )
