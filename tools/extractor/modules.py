"""What the top-level names of a module are bound to, by reading its statements in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from extractor.source import SourceTree

Binding = ast.expr | ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True, slots=True)
class Imported:
    """`from module import name`, or (name is None) a whole module."""

    module: str
    name: str | None


class ModuleNames:
    """Top-level bindings of the modules of one source tree."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self.of = cache(self._of)

    def _of(self, module: str) -> dict[str, Binding | Imported]:
        parsed = self._tree.module(module)
        names: dict[str, Binding | Imported] = {}
        for statement in _running(parsed.body if parsed else []):
            names |= self._bound(statement, module)
        return names

    def _bound(self, statement: ast.stmt, module: str) -> dict[str, Binding | Imported]:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                return {name: statement}
            case ast.Assign(targets=targets, value=value):
                return {target.id: value for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return {name: value}
            case ast.Import(names=aliases):
                return {
                    alias.asname or alias.name.split(".")[0]: Imported(
                        alias.name if alias.asname else alias.name.split(".")[0], None
                    )
                    for alias in aliases
                }
            case ast.ImportFrom(names=aliases):
                source = self.absolute(statement, module)
                imported = [alias.asname or alias.name for alias in aliases]
                if imported == ["*"]:
                    return {name: Imported(source, name) for name in self.of(source)}
                return {
                    name: Imported(source, alias.name)
                    for name, alias in zip(imported, aliases, strict=True)
                }
        return {}

    def absolute(self, statement: ast.ImportFrom, module: str) -> str:
        """The module that an import names, whether or not it is relative."""
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        drop = statement.level - (1 if self._tree.is_package(module) else 0)
        parts = parts[: len(parts) - drop]
        return ".".join([*parts, statement.module] if statement.module else parts)


def _running(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported; an undecided branch counts."""
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=other):
                checked_only = ast.unparse(test).endswith("TYPE_CHECKING")
                yield from _running(other if checked_only else [*other, *then])
            case ast.Try(body=tried) | ast.With(body=tried):
                yield from _running(tried)
            case _:
                yield statement
