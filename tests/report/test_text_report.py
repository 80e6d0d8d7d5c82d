"""One line a finding."""

from __future__ import annotations

import built_assessments as build

from scheduler_reader.report.formats import text
from scheduler_reader.report.report import Report


def test_one_line_a_finding() -> None:
    findings = (
        build.finding(),
        build.finding(code="MEM110", message="two\nlines \x1b[31mred", origin=None),
    )
    assert text.render(Report.of([build.healthy(findings=findings)])) == (
        "serve.yaml:3:1: MEM104 max_model_len is 16,384 and the longest request of the workload "
        "is 1,280 tokens.\n"
        "serve.yaml:1:1: MEM110 two lines red\n"
    )


def test_nothing_found_prints_nothing() -> None:
    assert text.render(Report.of([build.healthy(findings=())])) == ""
