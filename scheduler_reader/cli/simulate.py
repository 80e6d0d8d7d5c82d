"""`sched-reader simulate`: what vLLM's scheduler does, step by step."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.versions import Release, find_release, latest


class Format(StrEnum):
    steps = "steps"


def simulate(
    case: Annotated[
        str,
        typer.Option(
            "--case", metavar="FILE", help="Engine options and requests, as JSON; - is stdin."
        ),
    ],
    vllm_version: Annotated[
        str | None,
        typer.Option("--vllm-version", metavar="V", help="The release; newest if unsaid."),
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="steps: each scheduling decision as JSON.")
    ] = Format.steps,
) -> None:
    """Replay requests through the scheduler of a vLLM release."""
    from scheduler_reader.simulate.case import read_case
    from scheduler_reader.simulate.steps import replay

    release = find_release(vllm_version) if vllm_version else latest()
    if release.assumption:
        typer.echo(f"sched-reader: {release.assumption}", err=True)
    trace = replay(read_case(_text(case), release), Release(release.name))
    typer.echo(json.dumps({"steps": trace.steps, "stalled": trace.is_stalled}))


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
