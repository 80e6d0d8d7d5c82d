"""Sentences with facts in them: `{max_num_seqs} sequences, {kv_cache_gib:gib} of KV cache`.

Between braces stands any expression over facts.  A format of `gib`, `percent` or `ms` adds the
unit; without one, numbers get thousands separators and about three digits.  A fact that is not
known reads `unknown`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from string import Formatter
from typing import Any

from scheduler_reader.record import Record
from scheduler_reader.rule_engine.expression import Evaluator, MissingFact, parse


class Placeholder(Record):
    """One expression of a template and how its value is written."""

    expression: ast.expr
    form: str


class Template(Record):
    """A parsed sentence: literal text and placeholders in order."""

    parts: tuple[str | Placeholder, ...]

    def expressions(self) -> tuple[ast.expr, ...]:
        return tuple(part.expression for part in self.parts if isinstance(part, Placeholder))

    def fill(self, evaluator: Evaluator) -> str:
        """The sentence with the values of `evaluator`'s facts."""
        return "".join(
            part if isinstance(part, str) else _written(part, evaluator) for part in self.parts
        )


def parse_template(text: str) -> Template:
    """Parse a sentence; `ValueError` says what is wrong with it."""
    parts: list[str | Placeholder] = []
    for literal, field, form, _ in Formatter().parse(text):
        if literal:
            parts.append(literal)
        if field is not None:
            if form not in FORMS:
                raise ValueError(f"no format {form!r}; there are {', '.join(filter(None, FORMS))}")
            parts.append(Placeholder(parse(field), form or ""))
    return Template(tuple(parts))


def for_people(value: Any) -> str:
    """A value as a sentence shows it: 131,072; 0.9; on; a, b."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if abs(value) >= 100:
            return f"{value:,.0f}"
        return f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ", ".join(map(for_people, value))
    return "none" if value is None else str(value)


FORMS: dict[str | None, Callable[[Any], str]] = {
    None: for_people,
    "": for_people,
    "gib": lambda value: f"{value:.1f} GiB",
    "percent": lambda value: f"{value:.0%}",
    "ms": lambda value: f"{value:,.0f} ms",
    "plain": str,
}


def _written(part: Placeholder, evaluator: Evaluator) -> str:
    try:
        value = evaluator.result(part.expression)
    except MissingFact:
        return "unknown"
    is_number = isinstance(value, int | float)
    return FORMS[part.form](value) if is_number or part.form == "plain" else for_people(value)
