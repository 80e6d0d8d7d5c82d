"""`sched-reader check`: the findings of every engine below some folders, for CI and pre-commit."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import Gate, Load, RuleChoice, Target, read_request, takes_groups
from scheduler_reader.cli.output import exit_code
from scheduler_reader.cli.paths import read_paths


class Format(StrEnum):
    text = "text"
    json = "json"


@takes_groups
def check(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...", help="Files and folders; - is stdin.", show_default=False
        ),
    ] = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    format: Annotated[
        Format, typer.Option("--format", help="What stdout gets.", rich_help_panel=options.OUTPUT)
    ] = Format.text,
    gate: Gate,
    choice: RuleChoice,
) -> None:
    """Check every configuration below some folders: one line a finding, and an exit code.

    Files of a folder that serve no vLLM are passed over; a file that is named must be one.

    Examples:

      sched-reader check deploy/ --fail-on warning --ignore PRF

      helm template chart/ | sched-reader check - --vllm-version 0.18.0 --gpu l40s
    """
    from scheduler_reader.pipeline import assess, check

    request = read_request(target.read(context, vllm_version), load, choice)
    read = read_paths(paths or [], context.obj)
    engines = list(read.engines)
    request = replace(request, target=target.fetched(request.target, engines))
    checked = [check(engine, request) for engine in engines]
    if format is Format.json:
        from scheduler_reader.report import json

        assessments = [
            replace(assess(engine, request), findings=one.findings, not_evaluated=one.not_evaluated)
            for engine, one in zip(engines, checked, strict=True)
        ]
        typer.echo(json.render(assessments, read.unreadable), nl=False)
    else:
        from scheduler_reader.report import text

        typer.echo(text.render(checked), nl=False)
    read.tell()
    raise typer.Exit(exit_code(checked, read.unreadable, gate))
