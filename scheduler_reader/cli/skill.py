"""`sched-reader skill`: the agent skill, with the reading of a deployment where one is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import Load, RuleChoice, Target, read_request, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import UNREADABLE, replace_file
from scheduler_reader.cli.plain_options import stated_release
from scheduler_reader.errors import UsageError

if TYPE_CHECKING:
    from scheduler_reader.assessment import Assessment
    from scheduler_reader.report.unreadable import Unreadable

STDOUT = "-"


@takes_groups
def skill(
    context: typer.Context,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG",
            help="Deployments to embed the reading of; - is stdin.",
            show_default=False,
        ),
    ] = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    choice: RuleChoice,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Where the single file goes, - is stdout; skill-vllm-scheduler-reader.md if unsaid.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Write DIR/vllm-scheduler-reader/ with SKILL.md and references instead.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
) -> None:
    """Write the agent skill: how an agent reads a vLLM configuration with this tool.

    With a CONFIG, the reading of that deployment stands in it.

    Examples:

      sched-reader skill --folder .claude/skills

      sched-reader skill serve.yaml --vllm-version 0.18.0 --gpu h100 --workload chat --output -
    """
    if output is not None and folder is not None:
        raise UsageError("--output is the single file, --folder the folder: give one of them")
    from scheduler_reader.pipeline import assess
    from scheduler_reader.report.skill import document

    request = read_request(target.read(context, vllm_version), load, choice)
    assessments: list[Assessment] = []
    unreadable: list[Unreadable] = []
    if configs or context.obj is not None:
        files, unreadable = read_inputs(configs or [], context.obj)
        engines = [engine for file in files for engine in file.readable]
        request = request._replace(target=target.fetched(request.target, engines))
        assessments = [assess(engine, request) for engine in engines]
    else:
        _refuse_without_config(context)
    for bad in unreadable:
        tell(bad.message)
    if unreadable:
        raise typer.Exit(UNREADABLE)
    release = assessments[0].engine.release if assessments else stated_release(vllm_version)
    if folder is not None:
        _write_folder(folder, document.folder(release, assessments))
        return
    text = document.single_file(release, assessments)
    if output == STDOUT:
        typer.echo(text, nl=False)
        return
    path = Path(output or document.SINGLE_FILE)
    replace_file(path, text)
    tell(f"wrote {path}")


def _refuse_without_config(context: typer.Context) -> None:
    """An option that only a configuration could use; what a settings file says is no mistake."""
    for name in (*Target._fields, *Load._fields, *RuleChoice._fields):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is about a configuration: name one, or leave it out")


def _write_folder(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path.parent}: cannot be made: {error.strerror}") from None
        replace_file(path, text)
    tell(f"wrote {folder / next(iter(files))}")
