"""Findings that somebody accepted in the file itself, by a comment or an annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scheduler_reader.assessment import Judged
from scheduler_reader.gate.remarks import Acceptance, read_remark
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.rule_engine.finding import Finding, Suppressed, Suppression, SuppressionIssue
from scheduler_reader.rule_engine.selection import Selection
from scheduler_reader.value import Origin

OWN = "GAT"  # findings about suppressions cannot be suppressed in the file, only deselected
OPTION = re.compile(r"-[A-Za-z-]")

J = TypeVar("J", bound=Judged)


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of all rules, those that need a started engine, and which this run asks for."""

    known: frozenset[str]
    of_started: frozenset[str]
    selection: Selection

    def are_known(self, prefix: str) -> bool:
        """Whether a rule's code starts so."""
        return any(code.startswith(prefix) for code in self.known)

    def were_evaluated(self, prefix: str, engines: Sequence[J]) -> bool:
        """Whether every rule whose code starts so was asked and had an answer."""
        missing = {rule.code for engine in engines for rule in engine.not_evaluated}
        if any(finding.effect == "refused" for engine in engines for finding in engine.findings):
            missing |= (
                self.of_started
            )  # they say nothing of it, whatever they will say once it runs
        return all(
            self.selection.wants(code) and code not in missing
            for code in self.known
            if code.startswith(prefix)
        )


def suppressed(
    file: ParsedFile, engines: Sequence[J], codes: Codes
) -> tuple[list[J], list[SuppressionIssue]]:
    """The engines of one file without the findings that its remarks accept, and what is wrong with those."""
    read = [part for remark in file.remarks for part in read_remark(remark)]
    issues = [part for part in read if isinstance(part, SuppressionIssue)]
    acceptances = [part for part in read if isinstance(part, Acceptance)]
    used: set[Acceptance] = set()
    left: list[J] = []
    for engine in engines:
        counting: list[Finding] = []
        accepted: list[Suppressed] = []
        for finding in engine.findings:
            by_all = list(_accepting(finding, engine.engine.parsed, acceptances))
            if not by_all:
                counting.append(finding)
            else:
                used.update(by_all)
                by = min(by_all, key=_extent)
                suppression = Suppression(by.remark.kind, by.reason, by.remark.origin)
                accepted.append(Suppressed(finding, suppression))
        left.append(divided(engine, counting, accepted))
    for one in acceptances:
        if not codes.are_known(one.code):
            issues.append(SuppressionIssue("unknown_code", one.code, one.remark.origin))
        elif one not in used and codes.were_evaluated(one.code, engines):
            issues.append(SuppressionIssue("unused", one.code, one.remark.origin))
    return left, sorted(issues, key=lambda issue: (issue.origin.line or 0, issue.name))


def divided(engine: J, counting: Sequence[Finding], accepted: Sequence[Suppressed]) -> J:
    """The engine with the findings that count, and further ones that do not."""
    return engine._replace(findings=tuple(counting), suppressed=(*engine.suppressed, *accepted))


def nearest(engines: Sequence[J], origin: Origin) -> int:
    """Which engine a place in the file belongs to: the last that starts before it, else the first."""
    starts = [engine.engine.parsed.origin for engine in engines]
    before = [
        index
        for index, start in enumerate(starts)
        if start.path == origin.path and (start.line or 0) <= (origin.line or 0)
    ]
    return before[-1] if before else 0


def _accepting(
    finding: Finding, engine: ParsedEngine, acceptances: Sequence[Acceptance]
) -> Iterator[Acceptance]:
    if finding.code.startswith(OWN):
        return
    place = finding.origin if finding.origin and finding.origin.path else engine.origin
    for one in acceptances:
        if finding.code.startswith(one.code) and _covers(one, place, engine):
            yield one


def _extent(acceptance: Acceptance) -> tuple[bool, int]:
    """How much a remark is about, to tell the narrowest."""
    return acceptance.is_file_wide, acceptance.remark.last - acceptance.remark.first


def _covers(acceptance: Acceptance, place: Origin, engine: ParsedEngine) -> bool:
    """Whether a remark is about the place of a finding, or about the engine as a whole."""
    remark = acceptance.remark
    path = remark.origin.path
    if acceptance.is_file_wide:
        return path in (place.path, engine.origin.path)
    is_alone = remark.first < remark.last or remark.kind == "annotation"
    is_here = engine.origin.path == path and engine.origin.line is not None
    if is_alone and is_here and remark.first <= (engine.origin.line or 0) <= remark.last:
        return True
    return remark.kind == "comment" and place.path == path and remark.line in _lines(place, engine)


def _lines(place: Origin, engine: ParsedEngine) -> set[int | None]:
    """The lines of the option that stands at a place: its own and those of its values."""
    words = engine.words
    at = next((index for index, word in enumerate(words) if word.origin == place), None)
    if at is None:
        return {place.line}
    first = at
    while first > 0 and not OPTION.match(words[first].text):
        first -= 1
    if not OPTION.match(words[first].text):
        return {place.line}  # a value before all options: the model
    last = first + 1
    while last < len(words) and not OPTION.match(words[last].text):
        last += 1
    return {word.origin.line for word in words[first:last]}
