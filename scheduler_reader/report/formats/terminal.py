"""The report for people as text of 80 columns, without colour; on a terminal see `report.terminal`."""

from __future__ import annotations

from scheduler_reader.report.report import Report
from scheduler_reader.report.terminal import text


def render(report: Report) -> str:
    """Every engine's report, one after the other."""
    return text(report.assessments)
