"""A rule with the facts it is made of, and the rules that are about a setting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from scheduler_reader.rule_engine import all_rules
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.vocabulary import Fact, find_fact


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """A rule, and every fact and engine argument that its condition names."""

    rule: Rule
    facts: tuple[Fact, ...]


def find_rule(word: str) -> Rule | None:
    """The rule of that code (in any case) or name."""
    return next((r for r in all_rules() if word.upper() == r.code or word.lower() == r.name), None)


def explain_rule(rule: Rule) -> RuleExplanation:
    """A rule with the facts that its condition names, in the order of reading."""
    names = dict.fromkeys((*([rule.for_each] if rule.for_each else []), *CompiledRule(rule).names))
    facts = [find_fact(name) for name in names]
    return RuleExplanation(rule, tuple(fact for fact in facts if fact is not None))


def rules_about(argument: str) -> tuple[Rule, ...]:
    """The rules that name an engine argument in their condition, their blame or their fix."""
    return tuple(rule for rule, names in _names_of_rules() if argument in names)


@cache
def _names_of_rules() -> tuple[tuple[Rule, frozenset[str]], ...]:
    return tuple(
        (rule, frozenset({rule.blames or "", *rule.fix_set, *CompiledRule(rule).names}))
        for rule in all_rules()
    )
