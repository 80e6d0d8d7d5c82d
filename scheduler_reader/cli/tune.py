"""`sched-reader tune`: search an engine's settings, and write the best ones into its file."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli import INTERRUPTED, options
from scheduler_reader.cli.edited_file import EditedFile
from scheduler_reader.cli.groups import Load, Target, read_request, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import FINDINGS, UNREADABLE
from scheduler_reader.cli.plain_options import Configs, FormatOption, PlainFormat
from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.workload import Slo

if TYPE_CHECKING:
    from scheduler_reader.parse.source import ParsedFile
    from scheduler_reader.report.tuning.json import Left
    from scheduler_reader.tune.point import Case
    from scheduler_reader.tune.result import Tuned
    from scheduler_reader.tune.tuner import Wishes

SEARCH = "Search"


class Aim(StrEnum):
    throughput = "throughput"
    latency = "latency"
    goodput = "goodput"


class Held(StrEnum):
    kv_cache_dtype = "kv-cache-dtype"
    max_model_len = "max-model-len"


class Backend(StrEnum):
    local = "local"
    dask = "dask"


class Search(Record):
    """What is searched for, how far, and on which machines."""

    aim: Annotated[
        Aim | None,
        typer.Option(
            "--for",
            help="What is searched for; goodput where an SLO is stated, else throughput.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    allow: Annotated[
        list[Held] | None,
        typer.Option(
            "--allow",
            metavar="CHANGE",
            help="Also kv-cache-dtype (may alter answers) or max-model-len (what is accepted).",
            rich_help_panel=SEARCH,
        ),
    ] = None
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            min=1,
            metavar="N",
            help="At most so many combinations an engine in closed form.",
            rich_help_panel=SEARCH,
        ),
    ] = 600
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Processes; as many as cores if unsaid.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    backend: Annotated[
        Backend,
        typer.Option("--backend", help="Run here, or on a Dask cluster.", rich_help_panel=SEARCH),
    ] = Backend.local
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="The cluster's scheduler: tcp://host:8786.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Keep evaluated points there, and go on from those that it has.",
            rich_help_panel=SEARCH,
        ),
    ] = None

    def wishes(self, slo: Slo) -> Wishes:
        """What the search is asked for; `UsageError` for goodput without an SLO."""
        from scheduler_reader.tune import objective
        from scheduler_reader.tune.tuner import Wishes

        if self.aim is Aim.goodput and not slo.is_set:
            raise UsageError(
                "--for goodput needs an SLO: --slo-ttft-ms, --slo-itl-ms or --slo-tpot-ms"
            )
        return Wishes(
            objective.Aim(self.aim.value) if self.aim else None,
            tuple(each.value.replace("-", "_") for each in self.allow or []),
            self.budget,
        )


@takes_groups
def tune(
    context: typer.Context,
    configs: Configs = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    search: Search,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FILE",
            help="Write the file with the changes made; may be CONFIG itself.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="Print the changes as a unified diff, and nothing else.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the front: .svg or .png (needs matplotlib).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Search the scheduler's settings: what to change, in which order, and what each change gains.

    Examples:

      sched-reader tune serve.yaml --gpu h100 --workload chat --slo-ttft-ms 500 --slo-itl-ms 50

      sched-reader tune serve.yaml --for throughput --allow kv-cache-dtype --diff
    """
    from scheduler_reader.tune.tuner import case_of

    request = read_request(target.read(context, vllm_version), load)
    _check(configs or [], bool(write or diff), plot, search)
    wishes = search.wishes(request.slo)
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    request = request._replace(target=target.fetched(request.target, engines))
    if plot is not None and len(engines) > 1:
        raise UsageError(f"--plot shows one engine; here are {len(engines)}")
    cases = [case_of(engine, request) for engine in engines]
    results = _swept(cases, wishes, search)
    edit = _edit(files[0], results) if (write or diff) and results else None
    if edit is not None:
        _write(edit, write, is_shown=diff)
    if plot is not None and results:
        _draw(plot, results[0])
    left = edit.left if edit else {}
    if not diff:
        _print(results, unreadable, left, format)
    for bad in unreadable:
        tell(bad.message)
    is_short = any(left.values()) or any(not one.after.figures for one in results)
    raise typer.Exit(UNREADABLE if unreadable else FINDINGS if is_short else 0)


class _Edit(Record):
    """A file with its new text, and what could not be changed in it, by engine."""

    file: EditedFile
    after: str
    left: Left


def _check(configs: Sequence[str], is_edit: bool, plot: Path | None, search: Search) -> None:
    """Before anything is searched: whether what is asked for can be done."""
    if is_edit and (len(configs) != 1 or configs[0] == "-"):
        raise UsageError("--write and --diff need one file: a command line or stdin is none")
    if (search.backend is Backend.dask) != (search.scheduler is not None):
        raise UsageError("a cluster needs both: --backend dask --scheduler ADDRESS")
    if plot is not None:
        from scheduler_reader.report.simulation.plot import check

        check(plot)


def _swept(cases: Sequence[Case], wishes: Wishes, search: Search) -> Sequence[Tuned]:
    from scheduler_reader.tune.pool import pool as opened
    from scheduler_reader.tune.store import open_store
    from scheduler_reader.tune.sweep import sweep

    resume = search.resume
    with open_store(resume) as store:
        try:
            with opened(search.jobs, search.scheduler) as evaluate:
                return sweep(cases, wishes, store, evaluate)
        except KeyboardInterrupt:
            kept = f"go on with --resume {resume}" if resume else "--resume FILE would have kept it"
            tell(f"stopped after {store.added:,} combinations; {kept}")
            raise typer.Exit(INTERRUPTED) from None


def _edit(file: ParsedFile, results: Sequence[Tuned]) -> _Edit:
    """The changes of every engine made in the text of the file."""
    from scheduler_reader.tune.edit import edited

    before = EditedFile.read(Path(file.path))
    after, left = before.text, {}
    for i, tuned in enumerate(results):
        number = file.engines.index(tuned.case.parsed)
        changes = [step.set for step in tuned.steps]
        after, left[i] = edited(after, file.path, number, changes, tuned.case.release)
    return _Edit(before, after, left)


def _write(edit: _Edit, target: Path | None, *, is_shown: bool) -> None:
    """Print the difference, or write the new text: whole or not at all."""
    from scheduler_reader.report.wording import command_options

    if is_shown:
        edit.file.show_difference(edit.after, target)
    if target is not None:
        edit.file.write(edit.after, target)
    for changes in edit.left.values():
        for change, reason in changes:
            options = "  ".join(command_options(change))
            tell(f"{edit.file.path}: {options} is not in the file: {reason}")


def _draw(path: Path, tuned: Tuned) -> None:
    from scheduler_reader.report.tuning.plot import write
    from scheduler_reader.report.wording import workload_text

    if tuned.front:
        write(path, workload_text(tuned.case.workload), tuned)
    else:
        tell(f"--plot {path}: nothing to draw, no combination starts and can be predicted")


def _print(
    results: Sequence[Tuned], unreadable: Sequence[Unreadable], left: Left, format: PlainFormat
) -> None:
    if format is PlainFormat.json:
        from scheduler_reader.report.tuning.json import render

        typer.echo(render(results, unreadable, left), nl=False)
        return
    from rich.console import Console

    from scheduler_reader.report.tuning import terminal

    terminal.render(results, Console())
