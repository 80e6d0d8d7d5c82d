"""What a word means: a rule, a flag, a term, a quoted figure, or a flag and a term at once."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeAlias

from scheduler_reader.claims.claim import Verdict, claim_names, find_claim
from scheduler_reader.data import json_file
from scheduler_reader.errors import UsageError
from scheduler_reader.explain.flags import FlagExplanation, explain_flag, find_flag
from scheduler_reader.explain.rules import RuleExplanation, explain_rule, find_rule
from scheduler_reader.explain.terms import Term, all_terms, find_term, plain
from scheduler_reader.rule_engine import all_rules

Explanation: TypeAlias = RuleExplanation | FlagExplanation | Term | Verdict


def explain(word: str) -> tuple[Explanation, ...]:
    """Everything of that name, a flag before a term (`watermark` is both).

    Raises `UsageError` with the nearest names where nothing has it.
    """
    rule = find_rule(word)
    if rule is not None:
        return (explain_rule(rule),)
    claim = find_claim(word)
    if claim is not None:
        from scheduler_reader.claims.check import check_claim

        return (check_claim(claim),)
    flag, term = find_flag(word), None if word.startswith("-") else find_term(word)
    found: list[Explanation] = []
    if flag is not None:
        found.append(explain_flag(flag))
    if term is not None:
        found.append(term)
    if not found:
        raise UsageError(
            f"{word!r} is no rule, flag, term or claim that is known; {_nearest(word)}"
        )
    return tuple(found)


def _nearest(word: str) -> str:
    known = {plain(name): name for name in _names()}
    close = get_close_matches(plain(word), list(known), n=3, cutoff=0.6)
    if not close:
        return "see `list rules`, `list flags` and `list claims`"
    return f"did you mean {', '.join(known[name] for name in close)}?"


def _names() -> list[str]:
    terms = [name for term in all_terms() for name in (term.name, *term.also)]
    rules = [name for rule in all_rules() for name in (rule.code, rule.name)]
    return [*rules, *json_file("flags.json")["flags"], *terms, *claim_names()]
