"""Parse the condition, the sentences and the fix of a rule."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_reader.rule_engine.expression import parse
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.template import Template, parse_template


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its parsed condition, sentences and fix."""

    rule: Rule
    when: ast.expr
    message: Template
    why: Template
    fix_text: Template
    fix_set: Mapping[str, Any]  # an ast.expr where the value is an expression
    names: tuple[str, ...]  # facts and arguments of `when`, in order


def compile_rule(rule: Rule) -> CompiledRule:
    """Parse all expressions; `DataError` names the file and the field of a mistake in the syntax."""
    return CompiledRule(
        rule=rule,
        when=_parsed(rule, "when", parse, rule.when),
        message=_parsed(rule, "message", parse_template, rule.message),
        why=_parsed(rule, "why", parse_template, rule.why),
        fix_text=_parsed(rule, "fix.text", parse_template, rule.fix_text),
        fix_set={
            name: _fix_value(rule, f"fix.set.{name}", value) for name, value in rule.fix_set.items()
        },
        names=tuple(_names(rule)),
    )


def _parsed(rule: Rule, field: str, parser: Any, text: str) -> Any:
    try:
        return parser(text)
    except ValueError as error:
        raise rule.mistake(field, str(error)) from error


def _fix_value(rule: Rule, field: str, value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return _parsed(rule, field, parse, value[1:-1])
    return value


def _names(rule: Rule) -> list[str]:
    tree = _parsed(rule, "when", parse, rule.when)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.append((node.col_offset, node.id))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.col_offset, node.value))
    return [name for _, name in sorted(found)]
