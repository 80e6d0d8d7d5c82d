"""Commands whose options may stand in a settings file, and convert plain values without pydantic.

Since 0.29 typer converts each parameter of a command with a pydantic `TypeAdapter`, also one that
is not given, and loading pydantic's machinery takes longer than a diagnosis.  What is absent, has
its type already (text), or is a word of a choice needs none; any other value is left to typer.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup

from scheduler_reader.cli import settings_file


class _ShownHelp:
    """Has a help as `help_text` arranges it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from scheduler_reader.cli.help_text import prepare

        prepare(self, self.get_params(ctx))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)  # type: ignore[misc]


class Group(_ShownHelp, TyperGroup):
    """A group of commands."""


class PlainCommand(_ShownHelp, TyperCommand):
    """A command that asks no settings file."""


class Command(PlainCommand):
    """A command with defaults from a settings file, whose parameters convert plain values themselves."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {parameter.name for parameter in self.params}
        if not options.isdisjoint(settings_file.READ) and "--help" not in args:
            given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            ctx.default_map = settings_file.defaults(ctx, given, options)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        return [plain_first(parameter) for parameter in super().get_params(ctx)]


def plain_first(parameter: Any) -> Any:
    """The parameter with a converter of ours; as it is where its typer has none to replace."""
    build = getattr(parameter, "get_runtime_param", None)
    if build is not None and "get_runtime_param" not in vars(parameter):
        converter = _PlainFirst(build)
        parameter.get_runtime_param = lambda: converter
    return parameter


class _PlainFirst:
    """Stands where typer has a `RuntimeParam`, and builds that one for a value that needs it."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        annotation = param.type_descriptor.annotation
        kind = get_args(annotation)[0] if is_many else annotation
        if isinstance(kind, type):
            if all(isinstance(item, kind) for item in (value if is_many else (value,))):
                return value
            if issubclass(kind, StrEnum) and value in list(kind):
                return kind(value)
        return self._build().coerce(value, param=param, ctx=ctx)
