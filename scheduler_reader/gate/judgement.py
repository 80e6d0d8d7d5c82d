"""The findings of all engines as the gate counts them: what is accepted, known, graver or milder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Generic

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.gate.baseline import UNSAID, Baseline, Entry
from scheduler_reader.gate.controls import Controls
from scheduler_reader.gate.fingerprint import Identity, identities
from scheduler_reader.gate.severity import Severities, with_severity
from scheduler_reader.gate.suppressions import Codes, J, divided, nearest, suppressed
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.pipeline import Request
from scheduler_reader.rule_engine import Facts, Sources, evaluate
from scheduler_reader.rule_engine.evaluate import gravest_first
from scheduler_reader.rule_engine.finding import (
    Finding,
    Suppressed,
    Suppression,
    SuppressionIssue,
)
from scheduler_reader.rule_engine.selection import Selection, codes_of_started, known_codes
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD

ISSUES = "suppression_issues"  # the list fact of the rules that are asked once all others are


@dataclass(frozen=True, slots=True)
class Judgement(Generic[J]):
    """The engines with the findings that count, and what became of the baseline's entries."""

    engines: tuple[J, ...]
    baseline: Baseline | None = None
    expired: tuple[Entry, ...] = ()  # they count again
    fixed: tuple[Entry, ...] = ()  # not found any more: the baseline can shrink


def judge(
    files: Sequence[ParsedFile], engines: Sequence[J], request: Request, controls: Controls
) -> Judgement[J]:
    """Judge engines, which stand in the order of the files that they are in."""
    judged: list[J] = []
    remaining = list(engines)
    for file in files:
        of_file = remaining[: len(file.readable)]
        del remaining[: len(of_file)]
        judged += _without_suppressed(file, of_file, request) if file.remarks else of_file
    judged = [_by_gravity(engine, controls.severities) for engine in judged]
    baseline = controls.baseline
    if baseline is None:
        return Judgement(tuple(judged))
    scope = _scope(files, judged, request, baseline)
    if controls.writes_baseline:
        found = (name for one in judged for name in map(identities(one.engine), one.findings))
        baseline = baseline.updated(found, (e for e in baseline.entries if not scope.has(e)))
    return _compared(judged, baseline, scope, controls.today or date.today())


def _without_suppressed(file: ParsedFile, engines: list[J], request: Request) -> list[J]:
    if not engines:
        return []
    folders = request.rule_folders
    codes = Codes(known_codes(folders), codes_of_started(folders), request.rules)
    left, issues = suppressed(file, engines, codes)
    near: dict[int, list[SuppressionIssue]] = {}
    for issue in issues:
        near.setdefault(nearest(left, issue.origin), []).append(issue)
    return [
        divided(one, (*one.findings, *_findings_about(near.get(at, ()), one, request)), ())
        for at, one in enumerate(left)
    ]


def _findings_about(
    issues: Sequence[SuppressionIssue], judged: J, request: Request
) -> tuple[Finding, ...]:
    """What the rules on suppressions say of those that are wrong or not needed."""
    nothing = Unknown("rules on suppressions predict nothing")

    workload = request.workload or DEFAULT_WORKLOAD
    rules = [
        rule for rule in request.wanted_rules(judged.engine.release) if rule.rule.for_each == ISSUES
    ]
    sources = Sources(
        judged.engine,
        lambda _: plan_capacity(judged.engine, workload),
        lambda _: nothing,
        lambda _: nothing,
        workload,
        request.slo,
        suppression_issues=issues,
    )
    return evaluate(rules, Facts(sources))[0]


def _by_gravity(engine: J, severities: Severities) -> J:
    if not severities:
        return engine._replace(findings=gravest_first(engine.findings))
    findings = gravest_first(with_severity(one, severities) for one in engine.findings)
    accepted = tuple(
        one._replace(finding=with_severity(one.finding, severities)) for one in engine.suppressed
    )
    return engine._replace(findings=findings, suppressed=accepted)


def _compared(engines: Sequence[J], baseline: Baseline, scope: _Scope, today: date) -> Judgement[J]:
    """The engines without the findings that the baseline knows."""
    known: Mapping[Identity, Entry] = {entry.identity: entry for entry in baseline.entries}
    found: Counter[Identity] = Counter()
    judged = []
    for engine in engines:
        counting: list[Finding] = []
        accepted: list[Suppressed] = []
        identity = identities(engine.engine)
        for finding in engine.findings:
            one = baseline.seen_from_here(identity(finding))
            found[one] += 1
            entry = known.get(one)
            if entry is None or found[one] > entry.count or entry.is_over(today):
                counting.append(finding)
                continue
            reason = entry.reason or UNSAID
            suppression = Suppression("baseline", reason, baseline.place(entry), entry.expires)
            accepted.append(Suppressed(finding, suppression))
        judged.append(divided(engine, counting, accepted))
    asked = [entry for entry in baseline.entries if scope.has(entry)]
    return Judgement(
        tuple(judged),
        baseline,
        expired=tuple(e for e in asked if e.is_over(today) and found[e.identity]),
        fixed=tuple(e for e in asked if found[e.identity] < e.count),
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a run says something about: the files it read, and the rules that had an answer."""

    folder: Path
    paths: frozenset[str]
    unanswered: frozenset[tuple[str, str]]  # path and code
    rules: Selection

    def has(self, entry: Entry) -> bool:
        """Whether the run would find an entry's finding; of a file that is gone, nothing is found."""
        path, _, code, _ = entry.identity
        if not self.rules.wants(code) or (path, code) in self.unanswered:
            return False
        is_gone = not path.startswith("<") and not (self.folder / path).exists()
        return path in self.paths or is_gone


def _scope(
    files: Sequence[ParsedFile], engines: Sequence[J], request: Request, baseline: Baseline
) -> _Scope:
    unanswered = {
        (baseline.path_from_here(path), rule.code)
        for engine in engines
        if (path := engine.engine.parsed.origin.path)
        for rule in engine.not_evaluated
    }
    read = {file.path for file in files}
    for engine in engines:  # the files that --config names
        read |= {entry.origin.path for entry in engine.engine.parsed.config if entry.origin.path}
    paths = map(baseline.path_from_here, read)
    return _Scope(baseline.path.parent, frozenset(paths), frozenset(unanswered), request.rules)
