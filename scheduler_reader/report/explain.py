"""`explain --format json`: rules, flags, terms and quoted figures for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scheduler_reader.claims.claim import CaseAnswer, Verdict
from scheduler_reader.explain.flags import FlagExplanation
from scheduler_reader.explain.lookup import Explanation
from scheduler_reader.explain.rules import RuleExplanation
from scheduler_reader.explain.terms import Term
from scheduler_reader.report.plain import plain
from scheduler_reader.value import Unknown


def render(explanations: Sequence[Explanation]) -> str:
    """The JSON document of everything that a word means."""
    document = {"schema_version": "1", "explanations": [plain(_one(one)) for one in explanations]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _one(explanation: Explanation) -> dict[str, Any]:
    if isinstance(explanation, RuleExplanation):
        return _rule(explanation)
    if isinstance(explanation, FlagExplanation):
        return _flag(explanation)
    if isinstance(explanation, Verdict):
        return _verdict(explanation)
    return _term(explanation)


def _rule(explanation: RuleExplanation) -> dict[str, Any]:
    rule = explanation.rule
    return {
        "kind": "rule",
        "code": rule.code,
        "name": rule.name,
        "default": rule.default,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "effect": rule.effect,
        "versions": rule.versions,
        "when": rule.when,
        "for_each": rule.for_each,
        "message": rule.message,
        "why": rule.why,
        "fix": {"set": dict(rule.fix_set), "text": rule.fix_text},
        "source": rule.source,
        "since": rule.since,
        "facts": [
            {"name": fact.name, "kind": fact.kind, "meaning": fact.meaning}
            for fact in explanation.facts
        ],
        "examples": rule.examples,
    }


def _flag(flag: FlagExplanation) -> dict[str, Any]:
    return {
        "kind": "flag",
        "flag": flag.name,
        "argument": flag.argument,
        "controls": flag.controls,
        "aliases": flag.aliases,
        "ranges": [
            {
                "from": one.since,
                "to": one.until,
                "type": one.type,
                "default": one.default,
                "choices": one.choices,
                "deprecated": one.deprecated,
            }
            for one in flag.ranges
        ],
        "resolved_defaults": [
            {
                "deployments": row.deployments,
                "values": [
                    {"from": one.since, "to": one.until, "value": one.value, "rule": one.rule}
                    for one in row.spans
                ],
            }
            for row in flag.defaults
        ],
        "gone": flag.is_gone,
        "replacement": None
        if flag.replacement is None
        else {"use": flag.replacement.use, "note": flag.replacement.note},
        "rules": [rule.code for rule in flag.rules],
        "terms": flag.terms,
    }


def _term(term: Term) -> dict[str, Any]:
    return {
        "kind": "term",
        "term": term.name,
        "also": term.also,
        "is": term.meaning,
        "vllm": term.in_vllm,
        "mistaken": term.mistaken,
        "flags": term.flags,
        "source": term.source,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    claim = verdict.claim
    return {
        "kind": "claim",
        "claim": claim.name,
        "says": claim.says,
        "measure": claim.measure,
        "quoted": {"at_least": claim.least, "at_most": claim.most},
        "verdict": verdict.sentence,
        "cases": [_case(answer) for answer in verdict.answers],
        "but": claim.but,
        "source": claim.source,
    }


def _case(answer: CaseAnswer) -> dict[str, Any]:
    case, measured = answer.case, answer.measured
    said = {
        "case": case.label,
        "answer": answer.answer,
        "engine": case.arguments or None,
        "vllm_version": case.release,
        "gpu": case.gpu,
        "workload": case.workload.as_file() if case.arguments else None,
    }
    if isinstance(measured, Unknown):
        return said | {"value": measured, "low": None, "high": None, "beside": ""}
    return said | measured._asdict()
