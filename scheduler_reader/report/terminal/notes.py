"""The evidence for the verdict, and everything the report does not know or has assumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_reader.assessment import Assessment
from scheduler_reader.diagnosis.verdict import Lift
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.rule_engine.finding import NotEvaluated
from scheduler_reader.value import Known, Unknown

WORTH_LIFTING = 0.05  # the smallest gain that names a bottleneck
CODES_NAMED = 3  # of the rules that lack the same fact


def evidence_blocks(assessment: Assessment) -> Iterator[Block]:
    """Why this is the bottleneck: the evidence, each limit lifted alone, where a step's time goes."""
    if isinstance(assessment.bottleneck, Unknown):
        return
    bottleneck = assessment.bottleneck.value
    gains = sorted(bottleneck.lifted, key=lambda lift: -lift.gain)
    listed = tuple(lift.limit for lift in gains)
    reason = wording.start_reason(assessment.capacity)
    sentences = [
        sentence
        for sentence in bottleneck.evidence
        if not (reason and reason in sentence) and not sentence.startswith(listed)
    ]
    if gains and gains[0].gain < WORTH_LIFTING:
        small = ", ".join(f"{lift.limit} {_moves(lift)}" for lift in gains)
        sentences.append(f"lifted alone: {small}")
    if sentences or gains:
        yield BLANK
        yield heading("Evidence: ", "; ".join(sentences))
    if gains and gains[0].gain >= WORTH_LIFTING:
        yield paragraph("Each limit lifted alone:", indent=2)
        yield Columns(tuple(_lift(lift) for lift in gains), "lrl", indent=4)


def _lift(lift: Lift) -> tuple[Span, ...]:
    change = wording.changes_text({lift.metric: lift.before}, {lift.metric: lift.after})
    return ((lift.limit, ""), (_moves(lift), "head"), (change, ""))


def _moves(lift: Lift) -> str:
    return wording.relative_change(lift.before, lift.after)


def limits_blocks(assessment: Assessment) -> Iterator[Block]:
    """Assumptions, rules that could not be evaluated, and what the model leaves out."""
    assumptions = tuple(dict.fromkeys((*assessment.engine.assumptions, *assessment.assumptions)))
    unmodelled = (
        assessment.performance.value.not_modeled
        if isinstance(assessment.performance, Known)
        else ()
    )
    parts = [
        ("Assumed: ", assumptions),
        ("Not modelled: ", unmodelled),
        ("Not evaluated: ", _missing(assessment.not_evaluated)),
    ]
    if any(items for _, items in parts):
        yield BLANK
    for title, items in parts:
        if items:
            yield heading(title, "; ".join(items))


def _missing(rules: Sequence[NotEvaluated]) -> tuple[str, ...]:
    """Rules grouped by the fact that is missing: `model facts (MEM101, MEM102 and 4 more)`."""
    codes: dict[str, list[str]] = {}
    for rule in rules:
        codes.setdefault(rule.missing, []).append(rule.code)
    return tuple(f"{missing} ({_first(of_fact)})" for missing, of_fact in codes.items())


def _first(codes: Sequence[str]) -> str:
    more = f" and {len(codes) - CODES_NAMED} more" if len(codes) > CODES_NAMED else ""
    return ", ".join(codes[:CODES_NAMED]) + more


def next_blocks(assessment: Assessment) -> Iterator[Block]:
    """What to measure and to read next."""
    parts = (("Measure next: ", assessment.measure_next), ("Read next: ", assessment.read_next))
    for title, text in parts:
        if text:
            yield heading(title, text)
