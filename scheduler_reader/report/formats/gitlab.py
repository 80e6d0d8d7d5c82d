"""GitLab code quality: the artifact of a job that a merge request shows beside its lines.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
from typing import Any

from scheduler_reader.privacy import mask, printable
from scheduler_reader.report.listing import Listed, listed
from scheduler_reader.report.places import place_of_unreadable
from scheduler_reader.report.plain import dumped
from scheduler_reader.report.report import Report
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.rule_engine.finding import Finding


def render(report: Report) -> str:
    """A list with one entry a finding; findings that somebody accepted are not in it."""
    entries = [_entry(one) for one in listed(report)]
    entries += [_unreadable(bad, report) for bad in report.unreadable]
    return dumped(entries)


def _entry(one: Listed) -> dict[str, Any]:
    """GitLab wants a path and a line: what has none stands in line 1."""
    return {
        "description": f"{one.finding.code} {one.sentences}",
        "check_name": f"{one.finding.code}-{one.finding.name}",
        "fingerprint": one.fingerprint,
        "severity": _severity(one.finding),
        "location": {"path": one.place.path, "lines": {"begin": one.place.line or 1}},
    }


def _unreadable(bad: Unreadable, report: Report) -> dict[str, Any]:
    path = place_of_unreadable(bad, report.root).path
    return {
        "description": printable(mask(bad.message)),
        "check_name": "unreadable",
        "fingerprint": hashlib.sha256(f"unreadable\0{path}".encode()).hexdigest()[:32],
        "severity": "blocker",
        "location": {"path": path, "lines": {"begin": 1}},
    }


def _severity(finding: Finding) -> str:
    """Theirs has five degrees: the engine that does not start is one above other errors."""
    if finding.severity == "error":
        return "blocker" if finding.effect == "refused" else "critical"
    if finding.severity == "warning":
        return "major"
    return "info" if finding.effect == "advice" else "minor"
