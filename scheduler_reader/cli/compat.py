"""`sched-reader compat`: which features go together in a vLLM release."""

from __future__ import annotations

from typing import Annotated

import typer

from scheduler_reader.cli.output import FINDINGS
from scheduler_reader.cli.plain_options import (
    FormatOption,
    PlainFormat,
    ReleaseOption,
    stated_release,
)
from scheduler_reader.errors import UsageError


def compat(
    features: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FEATURE", help="Features to look at; all if none.", show_default=False
        ),
    ] = None,
    *,
    together: Annotated[
        str | None,
        typer.Option("--with", metavar="A,B,…", help="Whether these all go together."),
    ] = None,
    vllm_version: ReleaseOption = None,
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="NAME", help="With --with: on this GPU.")
    ] = None,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Show which features exclude each other in a release, since or until when, and why.

    With --with the exit code is 1 where the features do not go together.

    Example: sched-reader compat --with chunked-prefill,spec-decode,lora --vllm-version 0.18.0
    """
    from scheduler_reader.compat import answers
    from scheduler_reader.compat.features import find_feature
    from scheduler_reader.knowledge.gpus import find_gpu

    release = stated_release(vllm_version)
    asked = [find_feature(word) for word in features or []]
    if together is not None:
        words = [word for word in together.split(",") if word.strip()]
        wanted = list(dict.fromkeys([*asked, *map(find_feature, words)]))
        if len(wanted) < 2:
            raise UsageError("--with: name at least two features")
        answer = answers.together(wanted, release, find_gpu(gpu) if gpu else None)
    elif gpu is not None:
        raise UsageError("--gpu belongs to --with; without it all hardware is shown")
    else:
        answer = answers.about(asked, release) if asked else answers.whole_matrix(release)
    if format is PlainFormat.json:
        from scheduler_reader.report import compat as report

        typer.echo(report.render(answer), nl=False)
    else:
        from rich.console import Console

        from scheduler_reader.report.terminal import compat as terminal

        terminal.render(answer, Console())
    raise typer.Exit(FINDINGS if answer.status == "no" else 0)
