"""Arguments that two releases' own parsers read differently."""

from __future__ import annotations

from scheduler_reader.parse.reading import FlagIssue, FlagReading, IssueKind
from scheduler_reader.upgrade.changes import FlagChange, FlagChangeKind

KINDS: dict[IssueKind, FlagChangeKind] = {
    "removed": "removed",
    "unknown": "refused",
    "not_yet": "refused",
    "ambiguous": "refused",
    "wrong_type": "retyped",
    "missing_value": "retyped",
    "unexpected_value": "retyped",
    "bad_choice": "refused",
    "out_of_range": "refused",
    "stray": "refused",
    "dropped": "ignored",
    "deprecated": "deprecated",
}


def flag_changes(before: FlagReading, after: FlagReading) -> tuple[FlagChange, ...]:
    """What the later parser makes of an argument and the earlier one did not, in file order."""
    known = {_key(issue) for issue in before.issues}
    still = {_key(issue) for issue in after.issues}
    changes = [
        FlagChange(KINDS[issue.kind], issue.flag, issue.message, issue.origin, issue.suggestion)
        for issue in after.issues
        if issue.kind in KINDS and _key(issue) not in known
    ]
    changes += [
        FlagChange(
            "accepted",
            issue.flag,
            f"vLLM {after.release} takes {issue.flag}, which {before.release} refuses",
            issue.origin,
        )
        for issue in before.issues
        if issue.fatal and _key(issue) not in still and not _is_refused(issue, after)
    ]
    return tuple(sorted(changes, key=lambda change: (change.origin.line or 0, change.flag)))


def _key(issue: FlagIssue) -> tuple[str, str, str]:
    return issue.kind, issue.flag, str(issue.origin)


def _is_refused(issue: FlagIssue, after: FlagReading) -> bool:
    return any(
        other.fatal and other.flag == issue.flag and other.origin == issue.origin
        for other in after.issues
    )
