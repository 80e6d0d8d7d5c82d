"""`sched-reader explain`: a rule, a flag, a term or a quoted figure.

A flag may be written as it is typed (`--max-num-seqs`), so options that are not ours are words.
"""

from __future__ import annotations

from typing import Annotated

import typer

from scheduler_reader.cli.conversion import Command
from scheduler_reader.cli.plain_options import FormatOption, PlainFormat

app = typer.Typer(add_completion=False)


@app.command("explain", cls=Command, context_settings={"ignore_unknown_options": True})
def explain(
    word: Annotated[
        str,
        typer.Argument(
            metavar="CODE|FLAG|TERM|CLAIM",
            help="MEM101, --max-num-seqs, TTFT, naive-loop …",
            show_default=False,
        ),
    ],
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Explain a rule, a flag (what it controls, its default by release and hardware) or a term.

    A claim is a figure that is quoted everywhere (`list claims`): it is computed, case by case.

    Examples:

      sched-reader explain --max-num-batched-tokens

      sched-reader explain MEM101
    """
    from scheduler_reader.explain.lookup import explain as look_up

    found = look_up(word)
    if format is PlainFormat.json:
        from scheduler_reader.report import explain as report

        typer.echo(report.render(found), nl=False)
        return
    from rich.console import Console

    from scheduler_reader.report.terminal import explain as terminal

    terminal.render(found, Console())
