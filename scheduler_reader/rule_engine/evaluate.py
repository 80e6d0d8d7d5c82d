"""Evaluate rules on the facts of one engine: findings, and what could not be evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from math import floor
from typing import Any

from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.rule_engine.expression import Evaluator, MissingFact, known
from scheduler_reader.rule_engine.facts import Facts
from scheduler_reader.rule_engine.finding import Finding, NotEvaluated
from scheduler_reader.value import Origin

SEVERITY_ORDER = {"error": 0, "warning": 1, "note": 2}
CONFIDENCE_ORDER = {"high": 0, "medium": 1, "low": 2}


def evaluate(
    rules: Iterable[CompiledRule], facts: Facts
) -> tuple[tuple[Finding, ...], tuple[NotEvaluated, ...]]:
    """Findings, the gravest first, and the rules that lack a fact their answer depends on.

    Raises `DataError` for a rule that names what does not exist.
    """
    evaluator = Evaluator(facts.value, functions_of(facts))
    findings: list[Finding] = []
    missing: list[NotEvaluated] = []
    for compiled in rules:
        try:
            findings += _findings(compiled, facts, evaluator)
        except MissingFact as error:
            missing.append(NotEvaluated(compiled.rule.code, error.reason))
        except ValueError as error:
            raise compiled.rule.mistake("when", str(error)) from error
        except KeyError as error:
            raise compiled.rule.mistake("when", f"no fact or engine argument {error}") from error
    return gravest_first(findings), tuple(missing)


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By severity, then by how sure they are, then by code."""
    return tuple(
        sorted(
            findings,
            key=lambda f: (SEVERITY_ORDER[f.severity], CONFIDENCE_ORDER[f.confidence], f.code),
        )
    )


def functions_of(facts: Facts) -> dict[str, Callable[..., Any]]:
    """What `vocabulary.FUNCTIONS` declares, for these facts."""
    return {
        "is_set": facts.is_set,
        "given": facts.given,
        "env": facts.env,
        "option": facts.option,
        "policy": facts.policy,
        "policy_place": facts.policy_place,
        "is_within": _is_within,
        "since": facts.since,
        "upper": lambda value: str(value).upper(),
        "floor": floor,
        "min": min,
        "max": max,
    }


def _is_within(version: str, specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet  # few rules ask for it

    return SpecifierSet(specifier).contains(version, prereleases=True)


def _findings(compiled: CompiledRule, facts: Facts, evaluator: Evaluator) -> list[Finding]:
    found = []
    for item in _items(compiled, facts):
        evaluator.item = item
        if evaluator.result(compiled.when):
            found.append(_finding(compiled, facts, evaluator))
    return found


def _items(compiled: CompiledRule, facts: Facts) -> list[Any]:
    """What the rule is evaluated for: once, or for each item of a list fact."""
    if compiled.rule.for_each is None:
        return [None]
    items: list[Any] = known(facts.value(compiled.rule.for_each))
    return items


def _finding(compiled: CompiledRule, facts: Facts, evaluator: Evaluator) -> Finding:
    rule = compiled.rule
    argument, origin = _blamed(compiled, facts, evaluator.item)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        confidence=rule.confidence,
        effect=rule.effect,
        message=compiled.message.fill(evaluator),
        why=compiled.why.fill(evaluator),
        source=rule.source,
        origin=origin,
        fix=_fix(compiled, evaluator),
        fix_text=compiled.fix_text.fill(evaluator),
        argument=argument,
    )


def _fix(compiled: CompiledRule, evaluator: Evaluator) -> dict[str, Any]:
    """The exact values to set; a value that depends on an unknown fact is left to the text."""
    values = {}
    for name, value in compiled.fix_set.items():
        try:
            values[name] = evaluator.result(value) if isinstance(value, ast.expr) else value
        except MissingFact:
            continue
    return values


def _blamed(compiled: CompiledRule, facts: Facts, item: Any) -> tuple[str, Origin | None]:
    """The setting that the rule blames and where it stands, else the place of the engine."""
    if item is not None and isinstance(getattr(item, "origin", None), Origin):
        return getattr(item, "flag", "") or getattr(item, "name", ""), item.origin
    blames = compiled.rule.blames
    for name in (blames, *compiled.names) if blames else compiled.names:
        origin_of_setting = facts.origin(name)
        if origin_of_setting is not None:
            return name, origin_of_setting
    return "", facts.place
