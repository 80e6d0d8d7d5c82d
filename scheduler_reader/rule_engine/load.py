"""The rules: those of `rules/`, which are compiled on demand, and a user's own folders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scheduler_reader.data import compile_folder, documents
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.rule_engine.rule import ALL_RELEASES, Rule, read_rule, rule_of


@cache
def all_rules() -> tuple[Rule, ...]:
    """The rules that come with sched-reader, by code."""
    rules = [read_rule(f"rules/{path}", document) for path, document in documents("rules").items()]
    return tuple(sorted(rules, key=lambda rule: rule.code))


@cache
def user_rules(folder: Path) -> tuple[Rule, ...]:
    """The rules of a user's folder, with every name and type checked.

    Raises `UsageError` where there is no such folder and `DataError` for a mistake in a rule.
    """
    from scheduler_reader.rule_engine.check import check_rule

    if not folder.is_dir():
        raise UsageError(f"--rules {folder}: no such folder")
    rules = [read_rule(f"{folder}/{path}", doc) for path, doc in compile_folder(folder).items()]
    for rule in rules:
        check_rule(rule)
    return tuple(rules)


def rules_for(release: Release, folders: Sequence[Path] = ()) -> tuple[CompiledRule, ...]:
    """The rules that hold for one release, ready to evaluate.

    Names and types of our own rules are checked by the project's tests, not at each start.
    """
    rules = _own_rules_for(release.name)
    for folder in folders:
        for rule in user_rules(folder):
            if rule.specifier.contains(release.name, prereleases=True):
                rules += (CompiledRule(rule),)
    return rules


@cache
def _own_rules_for(release: str) -> tuple[CompiledRule, ...]:
    held = [
        rule_of(f"rules/{path}", document)
        for path, document in documents("rules").items()
        if Release(release).meets(document.get("versions", ALL_RELEASES))
    ]
    return tuple(CompiledRule(rule) for rule in sorted(held, key=lambda rule: rule.code))
