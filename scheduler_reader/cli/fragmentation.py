"""`sched-reader fragmentation`: KV waste of a length distribution or a trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli.plain_options import FormatOption, PlainFormat
from scheduler_reader.errors import UsageError

if TYPE_CHECKING:
    from scheduler_reader.workload import Lengths

LAWS = "normal:MEAN,STD, lognormal:MEAN,STD, uniform:LOW,HIGH, a number, or a trace file"


def fragmentation(
    *,
    lengths: Annotated[
        str,
        typer.Option("--lengths", metavar="LAW|FILE", help=f"Tokens of each request: {LAWS}."),
    ] = "normal:1500,600",
    requests: Annotated[
        int, typer.Option("--requests", min=1, help="Requests drawn from a law.")
    ] = 1000,
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="The file's column of lengths, if it is no trace."
        ),
    ] = None,
    max_model_len: Annotated[
        int, typer.Option("--max-model-len", min=1, help="What contiguous reservation takes each.")
    ] = 8192,
    block_size: Annotated[
        int, typer.Option("--block-size", min=1, help="Tokens of a KV block.")
    ] = 16,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 0,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Compare contiguous KV reservation with blocks: how much stays empty, by formula and counted.

    A trace's request holds its prompt and its output.

    Examples:

      sched-reader fragmentation --lengths lognormal:1500,600 --block-size 32

      sched-reader fragmentation --lengths requests.jsonl --column total_tokens
    """
    from scheduler_reader.capacity.fragmentation import fragmentation as count

    if Path(lengths).is_file():
        drawn = _read(lengths, column)
    elif column is not None:
        raise UsageError(f"--column needs a file of lengths, and {lengths} is none")
    else:
        drawn = islice(_drawn(lengths, seed), requests)
    found = count(drawn, max_model_len, block_size)
    if format is PlainFormat.json:
        from scheduler_reader.report import fragmentation as report

        typer.echo(report.render(found), nl=False)
        return
    from rich.console import Console

    from scheduler_reader.report.terminal import fragmentation as terminal

    terminal.render(found, Console())


def _read(path: str, column: str | None) -> Iterator[int]:
    if column is not None:
        from scheduler_reader.traces.column import read_column

        return read_column(path, column)
    from scheduler_reader.traces import read_trace

    return (row.prompt_tokens + row.output_tokens for row in read_trace(path))


def _drawn(text: str, seed: int) -> Iterator[int]:
    from random import Random

    from scheduler_reader.simulate.lengths import draw

    return draw(_law(text), Random(seed))


def _law(text: str) -> Lengths:
    """The distribution that `--lengths` writes; a `UsageError` says what it takes."""
    from scheduler_reader.workload import Lengths

    name, _, numbers = text.partition(":")
    try:
        if not numbers:
            return Lengths(constant=int(name))
        first, second = numbers.split(",")
        if name == "uniform":
            return Lengths(uniform=(int(first), int(second)))
        if name == "normal":
            return Lengths(normal={"mean": float(first), "std": float(second)})
        if name == "lognormal":
            return Lengths(lognormal={"mean": float(first), "std": float(second)})
    except ValueError as error:
        raise UsageError(f"--lengths {text}: {error}; give {LAWS}") from None
    raise UsageError(f"--lengths {text}: no file and no law; give {LAWS}")
