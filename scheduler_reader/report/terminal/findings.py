"""The findings, worst first, and the changes to make, in order."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, heading, paragraph
from scheduler_reader.report.terminal.header import SEVERITIES
from scheduler_reader.rule_engine.finding import Finding

EFFECTS = {
    "refused": "vLLM exits",
    "ignored": "ignored",
    "changed": "vLLM changes it",
    "warned": "vLLM warns",
    "risk": "risk",
    "advice": "advice",
}


def finding_blocks(assessment: Assessment) -> Iterator[Block]:
    """Every finding: where, code and name, what happens, why it matters, how to put it right.

    Of those that somebody accepted, the codes and the reasons.
    """
    if not assessment.findings and not assessment.suppressed:
        return
    yield BLANK
    if assessment.findings:
        yield heading("Findings")
    said = {assessment.capacity.reason}  # the head of the report has it
    for finding in sorted(assessment.findings, key=lambda f: SEVERITIES.index(f.severity)):
        yield from _finding(finding, assessment, said)
    accepted = [
        f"{one.finding.code} ({one.suppression.reason}, {one.suppression.origin.place})"
        for one in assessment.suppressed
    ]
    if accepted:
        yield heading("Accepted: ", "; ".join(accepted))


def _finding(finding: Finding, assessment: Assessment, said: set[str]) -> Iterator[Block]:
    place = (finding.origin or assessment.engine.parsed.origin).place
    certainty = ", low confidence" if finding.confidence == "low" else ""
    yield paragraph(
        f"{place}  " if place else "",
        (finding.severity, finding.severity),
        (f"  {finding.code} {finding.name}", "head"),
        (f"  ({EFFECTS[finding.effect]}{certainty})", "dim"),
        indent=2,
        hang=4,
    )
    yield paragraph(finding.message, indent=6)
    if finding.severity != "note" and finding.why and finding.why not in said:
        said.add(finding.why)
        yield paragraph(("why  ", "dim"), finding.why, indent=6, hang=5)
    for i, fix in enumerate(wording.remedies(finding)):
        yield paragraph(("     " if i else "fix  ", "dim"), fix, indent=6, hang=5)


def tuning_blocks(assessment: Assessment) -> Iterator[Block]:
    """What to change, in order: the flags, what that is predicted to do, the metric to watch."""
    if not assessment.tuning:
        return
    yield BLANK
    yield heading("Change, in this order")
    for step in sorted(assessment.tuning, key=lambda step: step.order):
        options = " ".join(wording.command_options(step.set))
        yield paragraph(f"{step.order}. ", (options, "head"), indent=2, hang=3)
        yield paragraph(step.because, indent=5)
        effect = wording.predicted_text(step, assessment.slo)
        if effect:
            yield paragraph(("predicted  ", "dim"), effect, indent=5, hang=2)
        yield paragraph(("watch  ", "dim"), step.watch, indent=5, hang=2)
