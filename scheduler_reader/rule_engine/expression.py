"""Expressions over facts: parsed once, evaluated by simpleeval, with three-valued logic.

A fact that is not known raises `MissingFact` at the place that needs it.  `and` and `or` go on
past it: a false operand makes `and` false and a true one makes `or` true, whatever the missing fact
would be; only where the answer depends on it does `MissingFact` leave the expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from simpleeval import (
    DEFAULT_OPERATORS,
    AttributeDoesNotExist,
    EvalWithCompoundTypes,
    InvalidExpression,
    NameNotDefined,
)

from scheduler_reader.value import Unknown

ALLOWED_NODES = (
    ast.Expr, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute,
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Load, ast.boolop, ast.operator, ast.unaryop,
    ast.cmpop,
)  # fmt: skip


class MissingFact(Exception):  # noqa: N818 - not an error: the third truth value
    """The result depends on a fact that is not known; `reason` says which and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def parse(text: str) -> ast.expr:
    """The syntax tree of one expression; `ValueError` says what is wrong with it."""
    try:
        statements = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise ValueError(f"{error.msg}: {text!r}") from error
    if len(statements) != 1 or not isinstance(statements[0], ast.Expr):
        raise ValueError(f"not one expression: {text!r}")
    return statements[0].value


class Evaluator(EvalWithCompoundTypes):  # type: ignore[misc]  # simpleeval is untyped
    """Evaluates syntax trees against `lookup(name)`, which returns a value or `Unknown`.

    Kinds are checked when a rule is loaded, so None or another value that cannot be ordered or
    calculated with is one more unknown: `MissingFact`.  A name that does not exist is `KeyError`,
    what is not part of the language `ValueError`.
    """

    def __init__(
        self, lookup: Callable[[str], Any], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        super().__init__(operators=DEFAULT_OPERATORS, functions=dict(functions), names={})
        self._lookup = lookup
        self.item: Any = None  # what `it` stands for in a rule with `for_each`

    def result(self, node: ast.expr) -> Any:
        """The value of a parsed expression."""
        try:
            return self._eval(node)
        except (NameNotDefined, AttributeDoesNotExist, InvalidExpression, TypeError) as error:
            raise ValueError(str(error)) from error

    def _eval_name(self, node: ast.Name) -> Any:
        value = self.item if node.id == "it" else self._lookup(node.id)
        return known(value)

    def _eval_call(self, node: ast.Call) -> Any:
        try:
            return known(super()._eval_call(node))
        except TypeError:
            raise self._misfit(node.args) from None

    def _eval_boolop(self, node: ast.BoolOp) -> bool:
        decides = isinstance(node.op, ast.Or)  # the operand value that settles the whole
        # The reason alone: an error that its own frame holds stays until Python looks for cycles.
        reason: str | None = None
        for operand in node.values:
            try:
                if bool(self._eval(operand)) is decides:
                    return decides
            except MissingFact as error:
                reason = reason or error.reason
        if reason is not None:
            raise MissingFact(reason)
        return not decides

    def _eval_compare(self, node: ast.Compare) -> Any:
        try:
            return super()._eval_compare(node)
        except TypeError:
            raise self._misfit([node.left, *node.comparators]) from None

    def _eval_binop(self, node: ast.BinOp) -> Any:
        try:
            return super()._eval_binop(node)
        except TypeError:
            raise self._misfit([node.left, node.right]) from None
        except ZeroDivisionError:
            raise MissingFact(f"{ast.unparse(node.right)} is 0") from None

    def _misfit(self, operands: list[ast.expr]) -> MissingFact:
        """Why these operands give no answer: one is None, or an argument holds an odd value."""
        values = {ast.unparse(operand): self._eval(operand) for operand in operands}
        for text, value in values.items():
            if value is None:
                return MissingFact(f"{text} has no value")
        shown = ", ".join(f"{text} is {value!r}" for text, value in values.items())
        return MissingFact(f"the values do not fit together: {shown}")


def known(value: Any) -> Any:
    """The value itself; `MissingFact` where it is `Unknown`."""
    if isinstance(value, Unknown):
        raise MissingFact(value.reason)
    return value
