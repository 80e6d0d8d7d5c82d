"""A rule with its expressions parsed, each when it is first needed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from scheduler_reader.rule_engine.expression import parse
from scheduler_reader.rule_engine.rule import Rule

if TYPE_CHECKING:
    from scheduler_reader.rule_engine.template import Template

Parsed = TypeVar("Parsed")


class CompiledRule:
    """The condition, the sentences and the fix of a rule.

    Most rules find nothing, so the sentences are parsed only for a finding.  A mistake in the
    syntax is a `DataError` with file and field.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @cached_property
    def when(self) -> ast.expr:
        return self._parsed("when", parse, self.rule.when)

    @cached_property
    def message(self) -> Template:
        return self._sentence("message", self.rule.message)

    @cached_property
    def why(self) -> Template:
        return self._sentence("why", self.rule.why)

    @cached_property
    def fix_text(self) -> Template:
        return self._sentence("fix.text", self.rule.fix_text)

    @cached_property
    def fix_set(self) -> Mapping[str, Any]:
        """Values by argument name; an `ast.expr` where the value is an expression in braces."""
        return {name: self._fix_value(name, value) for name, value in self.rule.fix_set.items()}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What `when` names, in the order of reading: facts, and arguments given to functions."""
        found = [
            (node.lineno, node.col_offset, node.id if isinstance(node, ast.Name) else node.value)
            for node in ast.walk(self.when)
            if isinstance(node, ast.Name)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        ]
        return tuple(str(name) for _, _, name in sorted(found))

    def _fix_value(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
            return self._parsed(f"fix.set.{name}", parse, value[1:-1])
        return value

    def _sentence(self, field: str, text: str) -> Template:
        from scheduler_reader.rule_engine.template import parse_template

        return self._parsed(field, parse_template, text)

    def _parsed(self, field: str, parser: Callable[[str], Parsed], text: str) -> Parsed:
        try:
            return parser(text)
        except ValueError as error:
            raise self.rule.mistake(field, str(error)) from error
