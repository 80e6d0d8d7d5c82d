"""The typer application: one module a command group."""

from __future__ import annotations

from typing import Annotated

import typer

from scheduler_reader import __version__
from scheduler_reader.cli import diagnose, listing, parse, simulate


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
    app = typer.Typer(
        name="sched-reader",
        callback=_root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command("diagnose")(diagnose.diagnose)
    app.command("parse")(parse.parse)
    app.command("simulate")(simulate.simulate)
    app.add_typer(listing.app, name="list")
    return app
