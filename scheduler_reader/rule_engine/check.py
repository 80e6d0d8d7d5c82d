"""Check every name and type in a rule against the vocabulary, before it is ever evaluated."""

from __future__ import annotations

import ast

from scheduler_reader.policy import THRESHOLDS
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.rule_engine.expression import ALLOWED_NODES
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.settings import is_setting
from scheduler_reader.rule_engine.vocabulary import FUNCTIONS, ITEM_FIELDS, find_fact

ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
CONSTANT_KINDS = {bool: "flag", int: "number", float: "number", str: "text", type(None): "none"}


def check_rule(rule: Rule) -> CompiledRule:
    """Compile a rule and check its names and types; `DataError` where one is wrong."""
    compiled = CompiledRule(rule)
    rule.specifier.contains("0.6.0")
    checker = _Checker(rule)
    if rule.for_each is not None:
        fact = find_fact(rule.for_each)
        if fact is None or not fact.kind.startswith("list:"):
            raise rule.mistake("for_each", f"{rule.for_each} is no list of things")
        checker.item_fields = ITEM_FIELDS[fact.kind.partition(":")[2]]
    if rule.blames is not None and not is_setting(rule.blames):
        raise rule.mistake("blames", f"no engine argument {rule.blames}")
    kind = checker.check("when", compiled.when)
    if kind not in ("flag", "any"):
        raise rule.mistake("when", f"is a {kind}, not true or false")
    for field in ("message", "why", "fix_text"):
        for expression in getattr(compiled, field).expressions():
            checker.check(field.replace("_", "."), expression)
    for name, value in compiled.fix_set.items():
        if not is_setting(name.partition(".")[0]):
            raise rule.mistake("fix.set", f"no engine argument {name}")
        if isinstance(value, ast.expr):
            checker.check(f"fix.set.{name}", value)
    return compiled


class _Checker:
    """Infers the kind of each part of an expression: number, flag, text, mapping, none or any."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.field = ""
        self.item_fields: tuple[str, ...] | None = None

    def check(self, field: str, node: ast.expr) -> str:
        self.field = field
        for part in ast.walk(node):
            if not isinstance(part, ALLOWED_NODES):
                raise self._mistake(f"{type(part).__name__} is not part of the rule language")
        return self._kind(node)

    def _kind(self, node: ast.expr) -> str:
        match node:
            case ast.Constant():
                return CONSTANT_KINDS.get(type(node.value), "any")
            case ast.Name():
                return self._name(node.id)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.BoolOp():
                for operand in node.values:
                    self._demand(operand, "flag")
                return "flag"
            case ast.UnaryOp():
                kind = "flag" if isinstance(node.op, ast.Not) else "number"
                self._demand(node.operand, kind)
                return kind
            case ast.BinOp(op=ast.Add()) if self._kind(node.left) == "text":
                self._demand(node.right, "text")
                return "text"
            case ast.BinOp():
                self._demand(node.left, "number")
                self._demand(node.right, "number")
                return "number"
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                self._demand(node.test, "flag")
                kinds = {self._kind(node.body), self._kind(node.orelse)}
                return kinds.pop() if len(kinds) == 1 else "any"
            case ast.Tuple() | ast.List():
                for element in node.elts:
                    self._kind(element)
                return "list"
        raise self._mistake(f"{type(node).__name__} is not part of the rule language")

    def _name(self, name: str) -> str:
        fact = find_fact(name)
        if fact is None:
            raise self._mistake(f"no fact or engine argument {name!r}")
        return fact.kind

    def _attribute(self, node: ast.Attribute) -> str:
        if not (isinstance(node.value, ast.Name) and node.value.id == "it"):
            raise self._mistake(f"only `it` has fields, not {ast.unparse(node.value)}")
        if self.item_fields is None or node.attr not in self.item_fields:
            raise self._mistake(f"no field {node.attr!r} of `it` (for_each: {self.rule.for_each})")
        return "any"

    def _call(self, node: ast.Call) -> str:
        name = ast.unparse(node.func)
        function = FUNCTIONS.get(name)
        if function is None or len(node.args) != function.parameters or node.keywords:
            raise self._mistake(f"no function {name} with {len(node.args)} arguments")
        for argument in node.args:
            self._kind(argument)
        if name in ("is_set", "given", "option"):
            first = node.args[0]
            if not (isinstance(first, ast.Constant) and is_setting(str(first.value))):
                raise self._mistake(f"{name} needs an engine argument, not {ast.unparse(first)}")
        if name.startswith("policy"):
            first = node.args[0]
            if not (isinstance(first, ast.Constant) and first.value in THRESHOLDS):
                raise self._mistake(f"{name} needs a threshold, not {ast.unparse(first)}")
        return function.kind

    def _compare(self, node: ast.Compare) -> str:
        operands = [node.left, *node.comparators]
        kinds = [self._kind(operand) for operand in operands]
        for operator, left, right in zip(node.ops, kinds, kinds[1:], strict=False):
            if isinstance(operator, ORDERING):
                fits = {left, right} <= {"number", "any"}
            elif isinstance(operator, ast.In | ast.NotIn):
                fits = right in ("list", "text", "mapping", "any") or right.startswith("list:")
            else:
                fits = left == right or bool({left, right} & {"any", "none"})
            if not fits:
                raise self._mistake(f"cannot compare {left} with {right}: {ast.unparse(node)}")
        return "flag"

    def _demand(self, node: ast.expr, wanted: str) -> None:
        kind = self._kind(node)
        if kind not in (wanted, "any"):
            raise self._mistake(f"{ast.unparse(node)} is a {kind}, not a {wanted}")

    def _mistake(self, what: str) -> Exception:
        return self.rule.mistake(self.field, what)
