"""`sched-reader simulate`: four ways to batch on one workload, and vLLM's decisions step by step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli import INTERRUPTED, options
from scheduler_reader.cli.groups import Load, Target, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import FINDINGS, UNREADABLE, replace_file
from scheduler_reader.cli.plain_options import Configs, stated_release
from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.knowledge.versions import Release

if TYPE_CHECKING:
    from scheduler_reader.report.simulation.simulated import Simulated
    from scheduler_reader.simulate.study import Study


class Format(StrEnum):
    terminal = "terminal"
    json = "json"
    steps = "steps"


class Modes(StrEnum):
    all = "all"
    naive = "naive"
    static = "static"
    continuous = "continuous"
    chunked = "chunked"


@takes_groups
def simulate(
    context: typer.Context,
    configs: Configs = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            min=1,
            metavar="N",
            help="How many requests.",
            rich_help_panel=options.LOAD,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="S", help="Of lengths and arrivals.", rich_help_panel=options.LOAD
        ),
    ] = None,
    mode: Annotated[
        list[Modes] | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="naive, static, continuous or chunked (repeatable); all if unsaid.",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write the timeline: .html (one page), .json (for Perfetto).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Write latency distributions: .png or .svg (needs matplotlib).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(
            "--case",
            metavar="FILE",
            help="Replay engine options and requests from JSON; - is stdin.",
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="What stdout gets; steps: each decision of a case.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
) -> None:
    """Run a workload through vLLM's scheduler, beside the ways to batch that came before it.

    Examples:

      sched-reader simulate serve.yaml --gpu h100 --workload mixed --timeline run.html

      sched-reader simulate serve.yaml --workload azure.csv --mode chunked --format json
    """
    if case is not None:
        typer.echo(_replay(case, vllm_version))
        return
    if format is Format.steps:
        raise UsageError("--format steps is for --case FILE")
    _check_targets(timeline, plot)
    from scheduler_reader.cli.progress import session
    from scheduler_reader.cli.simulation import Wanted, simulated
    from scheduler_reader.simulate.modes import Mode

    changes = {"num_requests": requests, "seed": seed}
    asked = mode or [Modes.all]
    wanted = Wanted(
        target=target.read(context, vllm_version),
        workload=load.read(),
        changes={name: value for name, value in changes.items() if value is not None},
        slo=load.slo(),
        modes=tuple(each for each in Mode if Modes.all in asked or Modes(each.value) in asked),
        needs_timeline=timeline is not None,
    )
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    wanted = replace(wanted, target=target.fetched(wanted.target, engines))
    if len(engines) > 1 and (timeline or plot):
        raise UsageError(f"--timeline and --plot show one engine; here are {len(engines)}")
    results = []
    with session() as current:
        for engine in engines:
            results.append(simulated(engine, wanted, current))
            if current.is_stopped:
                break
    _write(results, format or Format.terminal, timeline, plot)
    for bad in unreadable:
        tell(bad.message)
    raise typer.Exit(_exit_code(results, bool(unreadable)))


def _check_targets(timeline: Path | None, plot: Path | None) -> None:
    """Before anything is run: whether what is to be written can be."""
    if timeline is not None and timeline.suffix.lower() not in (".html", ".json"):
        raise UsageError(f"--timeline {timeline}: the name must end with .html or .json")
    if plot is not None:
        from scheduler_reader.report.simulation.plot import check

        check(plot)


def _write(
    results: Sequence[Simulated], format: Format, timeline: Path | None, plot: Path | None
) -> None:
    for result in results:
        if result.study is None:
            continue
        if timeline is not None:
            replace_file(timeline, _timeline(timeline, result.title, result.study))
        if plot is not None:
            from scheduler_reader.report.simulation.plot import write

            write(plot, result.title, result.study)
    if format is Format.json:
        from scheduler_reader.report.simulation.json import render

        typer.echo(render(results), nl=False)
        return
    from rich.console import Console

    from scheduler_reader.report.simulation import terminal

    for i, result in enumerate(results):
        if i:
            typer.echo()
        terminal.render(result, Console())


def _timeline(path: Path, title: str, study: Study) -> str:
    if path.suffix.lower() == ".html":
        from scheduler_reader.report.simulation import html

        return html.render(title, study)
    from scheduler_reader.report.simulation import trace_events

    return trace_events.render(study)


def _exit_code(results: Sequence[Simulated], has_unreadable: bool) -> int:
    if any(each.study is not None and each.study.is_interrupted for each in results):
        return INTERRUPTED
    if has_unreadable:
        return UNREADABLE
    return FINDINGS if any(each.study is None for each in results) else 0


def _replay(case: str, vllm_version: str | None) -> str:
    """The steps of a case as JSON."""
    import json

    from scheduler_reader.simulate.case import read_case
    from scheduler_reader.simulate.steps import replay

    release = stated_release(vllm_version)
    trace = replay(read_case(_text(case), release), Release(release.name))
    return json.dumps({"steps": trace.steps, "stalled": trace.is_stalled})


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
