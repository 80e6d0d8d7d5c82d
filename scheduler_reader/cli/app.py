"""The typer application: a command is imported and its options are built when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from scheduler_reader import __version__
from scheduler_reader.cli.conversion import Command, Group, plain_first

# Name → module below scheduler_reader.cli, and the function or typer application in it.
COMMANDS = {
    "diagnose": ("diagnose", "diagnose"),
    "check": ("check", "check"),
    "parse": ("parse", "parse"),
    "simulate": ("simulate", "simulate"),
    "tune": ("tune", "tune"),
    "calibrate": ("calibrate", "calibrate"),
    "upgrade": ("upgrade", "upgrade"),
    "compat": ("compat", "compat"),
    "budgets": ("budgets", "budgets"),
    "skill": ("skill", "skill"),
    "explain": ("explain", "app"),
    "fragmentation": ("fragmentation", "fragmentation"),
    "schema": ("schema", "schema"),
    "settings": ("settings", "app"),
    "list": ("listing", "app"),
}


class _Commands(Group):
    """The group of all commands, which loads those it is asked for."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [plain_first(parameter) for parameter in super().get_params(ctx)]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; typer compares a misspelt one with all that are loaded."""
        for name in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = _loaded(name)
        return self.commands.get(cmd_name)


def _loaded(name: str) -> Any:
    module, attribute = COMMANDS[name]
    found = getattr(import_module(f"scheduler_reader.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        return get_command(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=Command)(found)
    return get_command(alone)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sched-reader {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Read a vLLM serving configuration before it is deployed: without GPU, vLLM or network.

    Does it start, what will every scheduler setting really be, how many KV blocks and what
    latency does it get, which of vLLM's three defaults is the bottleneck, what to change.
    """


def application() -> typer.Typer:
    """The command line with all its commands."""
    return typer.Typer(
        name="sched-reader",
        cls=_Commands,
        callback=_root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
