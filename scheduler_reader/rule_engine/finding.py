"""A finding: what a rule says about one engine, where, and how to put it right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from scheduler_reader.record import Record
from scheduler_reader.value import Origin

if TYPE_CHECKING:
    from datetime import date

Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
Effect = Literal["refused", "ignored", "changed", "warned", "risk", "advice"]
SuppressionKind = Literal["comment", "annotation", "baseline"]
IssueKind = Literal[
    "no_reason",  # a code is named and no reason given: it counts all the same
    "unknown_code",  # no rule's code starts so
    "unused",  # nothing is found where it stands
    "not_understood",  # begins like a remark and is none
]


class Finding(Record):
    """`fix` maps argument names to the value to set (None: remove the argument).

    `argument` names what is blamed, whatever line it stands in: an engine argument, an option as
    written or a variable; empty where the engine as a whole is.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    effect: Effect
    message: str
    why: str
    source: str
    origin: Origin | None = None
    fix: Mapping[str, Any] = {}
    fix_text: str = ""
    predicted: Mapping[str, Any] | None = None
    argument: str = ""


class Suppression(Record):
    """Who accepted a finding: a comment or an annotation in the file, or the baseline.

    `origin` is the place of the comment, of the annotation, or of the baseline's entry.
    """

    kind: SuppressionKind
    reason: str
    origin: Origin
    expires: date | None = None  # the last day it holds


class Suppressed(Record):
    """A finding that does not count, kept for the reports that list such findings."""

    finding: Finding
    suppression: Suppression


class SuppressionIssue(Record):
    """What is wrong with one code of a remark, or with the remark as a whole."""

    kind: IssueKind
    name: str  # the code; the text where it is not understood
    origin: Origin


NO_OBSERVATION = "no metrics are given (--metrics, --bench, --startup-log, --observed)"


class NotEvaluated(Record):
    """A rule that applies to this release but needs a fact that is not known."""

    code: str
    missing: str

    @property
    def needs_observation(self) -> bool:
        """Whether all that is missing is a measurement, and none was given."""
        return self.missing == NO_OBSERVATION
