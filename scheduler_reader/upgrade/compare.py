"""Compare one engine as two releases read it."""

from __future__ import annotations

from scheduler_reader.assessment import Assessment
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.upgrade.behaviours import behaviour_changes, new_flags
from scheduler_reader.upgrade.changes import Upgrade
from scheduler_reader.upgrade.effects import changes_between, metrics_of
from scheduler_reader.upgrade.flags import flag_changes
from scheduler_reader.upgrade.settings import setting_changes

FLAG_FAMILY = "FLG"  # what the parser says of an argument, told as a flag change


def compare(before: Assessment, after: Assessment) -> Upgrade:
    """What differs between two assessments of the same engine, workload and hardware."""
    return Upgrade(
        before=before,
        after=after,
        flags=flag_changes(before.engine.flags, after.engine.flags),
        settings=setting_changes(before, after),
        metrics=changes_between(
            metrics_of(before.capacity, before.performance),
            metrics_of(after.capacity, after.performance),
        ),
        new_findings=_only_in(after, before),
        gone_findings=_only_in(before, after),
        behaviours=behaviour_changes(before.engine, after.engine),
        new_flags=new_flags(before.engine, after.engine),
    )


def _only_in(one: Assessment, other: Assessment) -> tuple[Finding, ...]:
    known = {(finding.code, finding.origin) for finding in other.findings}
    return tuple(
        finding
        for finding in one.findings
        if not finding.code.startswith(FLAG_FAMILY) and (finding.code, finding.origin) not in known
    )
