"""`sched-reader parse`: what was read, nothing more."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import UNREADABLE
from scheduler_reader.cli.plain_options import FormatOption, PlainFormat


def parse(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to read; - is stdin.", show_default=False),
    ] = None,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Show what was read: engines with model, typed flags, environment, and what could not be resolved.

    Example: sched-reader parse deploy/llm.yaml --format json
    """
    from scheduler_reader.parse import to_json
    from scheduler_reader.privacy import masked, secrets_of_files

    parsed, unreadable = read_inputs(files or [], context.obj)
    report, secrets = to_json(parsed), secrets_of_files(parsed)
    if format is PlainFormat.json:
        known = {file["path"] for file in report["files"]}
        report["files"] += [
            {
                "path": bad.path,
                "form": None,
                "engines": [],
                "problems": [{"message": bad.message, "line": None}],
            }
            for bad in unreadable
            if bad.path not in known
        ]
        typer.echo(json.dumps(masked(report, secrets), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        from scheduler_reader.report.terminal.parsed import render

        render(parsed, Console())
    for bad in unreadable:
        tell(bad.message)
    raise typer.Exit(UNREADABLE if unreadable else 0)
