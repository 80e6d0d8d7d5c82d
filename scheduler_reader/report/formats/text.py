"""One line a finding, for terminals, editors and CI logs: `path:line:column: CODE message`."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.assessment import Judged
from scheduler_reader.privacy import mask, printable, secrets
from scheduler_reader.report.report import Report


def render(report: Report) -> str:
    """Every finding of every engine on a line of its own, in the order given."""
    return "".join(f"{line}\n" for assessment in report.judged for line in lines(assessment))


def lines(assessment: Judged) -> Iterator[str]:
    """`serve.yaml:4:3: FLG101 message`.

    A finding without a place of its own is about the engine, and stands where the engine does.
    """
    engine = assessment.engine
    hidden = secrets(engine)  # once: an engine of many words has many findings too
    for finding in assessment.findings:
        place = finding.origin.place if finding.origin else ""
        place = place or engine.parsed.origin.place or str(engine.parsed.origin)
        yield printable(mask(f"{place}: {finding.code} {finding.message}", hidden))
