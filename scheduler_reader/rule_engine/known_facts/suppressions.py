"""Facts about the remarks in a file that accept findings."""

from __future__ import annotations

from scheduler_reader.rule_engine.finding import SuppressionIssue
from scheduler_reader.rule_engine.sources import Sources


def suppression_issues(sources: Sources) -> list[SuppressionIssue]:
    """Remarks that accept findings and are wrong, or not needed; known once all else is evaluated."""
    return list(sources.suppression_issues)
