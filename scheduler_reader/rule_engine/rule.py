"""A rule: one YAML document of `rules/`, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from scheduler_reader.diagnosis.verdict import Default
from scheduler_reader.errors import DataError
from scheduler_reader.record import Record
from scheduler_reader.rule_engine.finding import Confidence, Effect, Severity

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

CHOICES: dict[str, tuple[str, ...]] = {
    "default": get_args(Default),
    "severity": get_args(Severity),
    "confidence": get_args(Confidence),
    "effect": get_args(Effect),
}
TEXTS = ("code", "name", "when", "message", "why", "source", "since")
OPTIONAL = ("versions", "for_each", "blames")
FIELDS = {*CHOICES, *TEXTS, *OPTIONAL, "fix", "examples"}
ALL_RELEASES = ">=0.6.0"


class Rule(Record):
    """The fields of DESIGN §4.  `path` is the file, for errors; `fix_set` values that stand in
    braces are expressions, all others are taken as they are."""

    path: str
    code: str
    name: str
    default: Default
    severity: Severity
    confidence: Confidence
    effect: Effect
    versions: str
    when: str
    for_each: str | None
    blames: str | None
    message: str
    why: str
    fix_text: str
    fix_set: Mapping[str, Any]
    source: str
    since: str
    examples: Mapping[str, Sequence[Mapping[str, Any]]]

    @property
    def specifier(self) -> SpecifierSet:
        """The vLLM releases the rule holds for; `DataError` where the text is no specifier."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet  # of a user's rules

        try:
            return SpecifierSet(self.versions)
        except InvalidSpecifier as error:
            raise self.mistake("versions", str(error)) from error

    def mistake(self, field: str, what: str) -> DataError:
        """The error for a mistake in one field of this rule."""
        return DataError(f"{self.path}: {field}: {what}")


def read_rule(path: str, document: Any) -> Rule:
    """Check the fields of one YAML document; raises `DataError` with file and field."""
    if not isinstance(document, Mapping):
        raise DataError(f"{path}: a rule is a mapping")
    missing = sorted(FIELDS - set(OPTIONAL) - set(document))
    if missing:
        raise DataError(f"{path}: {missing[0]}: missing")
    unknown = sorted(map(str, set(document) - FIELDS))
    if unknown:
        raise DataError(f"{path}: {unknown[0]}: no such field of a rule")
    for field in TEXTS:
        _expect(path, field, isinstance(document[field], str) and document[field].strip(), "text")
    for field, allowed in CHOICES.items():
        _expect(path, field, document[field] in allowed, f"one of {', '.join(allowed)}")
    fix = document["fix"]
    _expect(path, "fix", isinstance(fix, Mapping) and fix.keys() <= {"set", "text"}, "set and text")
    _expect(path, "fix.text", isinstance(fix.get("text"), str), "text: every rule has a remedy")
    return rule_of(path, document)


def rule_of(path: str, document: Mapping[str, Any]) -> Rule:
    """The rule of a document whose fields are right: those of ours are checked by the tests."""
    fix = document["fix"]
    return Rule(
        path=path,
        fix_text=fix["text"],
        fix_set=fix.get("set") or {},
        versions=document.get("versions", ALL_RELEASES),
        for_each=document.get("for_each"),
        blames=document.get("blames"),
        examples=document["examples"] or {},
        **{field: document[field] for field in (*TEXTS, *CHOICES)},
    )


def _expect(path: str, field: str, holds: object, what: str) -> None:
    if not holds:
        raise DataError(f"{path}: {field}: must be {what}")
