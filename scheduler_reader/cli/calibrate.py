"""`sched-reader calibrate`: fit the host constants of a prediction to one's own benchmark runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import Target, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import UNREADABLE, replace_file
from scheduler_reader.errors import UsageError


@takes_groups
def calibrate(
    context: typer.Context,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG", help="The file of one engine; - is stdin.", show_default=False
        ),
    ] = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    bench: Annotated[
        list[str] | None,
        typer.Option(
            "--bench",
            metavar="FILE",
            help="A result of vllm bench serve --save-result, guidellm or genai-perf (repeatable).",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="FILE", help="Write the constants there, for --calibration."
        ),
    ] = None,
) -> None:
    """Fit host time and kernel speed to your own runs, and say how well that goes.

    Several runs with different concurrency tell more than one.

    Example:

      sched-reader calibrate serve.yaml --gpu h100 --bench c8.json --bench c64.json --write mine.yaml
    """
    from scheduler_reader.calibrate import calibrate as fit_constants
    from scheduler_reader.calibrate import runs_of
    from scheduler_reader.observe.bench import read_bench
    from scheduler_reader.report.calibration import as_file, render
    from scheduler_reader.resolve import resolve

    if not bench:
        raise UsageError("calibrate needs a result file: --bench FILE")
    stated = target.read(context, vllm_version)
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    for failure in unreadable:
        tell(str(failure))
    if unreadable:
        raise typer.Exit(UNREADABLE)
    if len(engines) != 1:
        raise UsageError(f"calibrate takes one engine, here are {len(engines)}")
    stated = target.fetched(stated, engines)
    runs = [runs_of(benchmark) for path in bench for benchmark in read_bench(path)]
    fit = fit_constants(resolve(engines[0], stated), runs)
    typer.echo(render(fit), nl=False)
    if write is not None:
        replace_file(write, as_file(fit))
        typer.echo(f"Written to {write}: use it with --calibration {write}")
