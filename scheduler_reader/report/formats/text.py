"""One line a finding, for terminals, editors and CI logs: `path:line:column: CODE message`."""

from __future__ import annotations

from scheduler_reader.assessment import Judged
from scheduler_reader.report.privacy import mask, printable, secrets
from scheduler_reader.report.report import Report
from scheduler_reader.rule_engine.finding import Finding


def render(report: Report) -> str:
    """Every finding of every engine on a line of its own, in the order given."""
    return "".join(
        line(assessment, finding) + "\n"
        for assessment in report.judged
        for finding in assessment.findings
    )


def line(assessment: Judged, finding: Finding) -> str:
    """`serve.yaml:4:3: FLG101 message`.

    A finding without a place of its own is about the engine, and stands where the engine does.
    """
    engine = assessment.engine
    place = finding.origin.place if finding.origin else ""
    place = place or engine.parsed.origin.place or str(engine.parsed.origin)
    return printable(mask(f"{place}: {finding.code} {finding.message}", secrets(engine)))
