"""A finding: what a rule says about one engine, where, and how to put it right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from scheduler_reader.value import Origin

Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
Effect = Literal["refused", "ignored", "changed", "warned", "risk", "advice"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` maps argument names to the value to set (None: remove the argument)."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    effect: Effect
    message: str
    why: str
    source: str
    origin: Origin | None = None
    fix: Mapping[str, Any] = field(default_factory=dict)
    fix_text: str = ""
    predicted: Mapping[str, Any] | None = None


class NotEvaluated(NamedTuple):
    """A rule that applies to this release but needs a fact that is not known."""

    code: str
    missing: str
