"""`sched-reader check`: the findings of every engine below some folders, for CI and pre-commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import (
    Gate,
    Load,
    Output,
    RuleChoice,
    Target,
    read_request,
    takes_groups,
)
from scheduler_reader.cli.output import exit_code, write_reports

if TYPE_CHECKING:
    from scheduler_reader.assessment import Assessment


@takes_groups
def check(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files and folders; - is stdin.", show_default=False),
    ] = None,
    *,
    only_vllm: Annotated[
        bool,
        typer.Option(
            "--only-vllm",
            help="Pass over named files that serve no vLLM, as in folders (for pre-commit).",
            rich_help_panel=options.TARGET,
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Processes that check; if unsaid, as many as cores where that is faster.",
            show_default=False,
        ),
    ] = None,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    output: Output,
    gate: Gate,
    choice: RuleChoice,
) -> None:
    """Check every configuration below some folders: one line a finding, and an exit code.

    Files of a folder that serve no vLLM are passed over; a file that is named must be one, unless
    --only-vllm passes over those as well.

    Examples:

      sched-reader check deploy/ --fail-on warning --ignore PRF

      helm template chart/ | sched-reader check - --vllm-version 0.18.0 --gpu l40s
    """
    from scheduler_reader.cli.gating import counts, gated, tell_doubts
    from scheduler_reader.cli.paths import read_paths
    from scheduler_reader.cli.reporting import report_of
    from scheduler_reader.fleet import check_all
    from scheduler_reader.pipeline import assess

    policy = gate.thresholds(context)
    request = read_request(target.read(context, vllm_version), load, choice, policy)
    controls = gate.controls(context, request.rule_folders)
    outputs = output.read("text")
    read = read_paths(paths or [], context.obj, passes_over=only_vllm)
    engines = list(read.engines)
    request = request._replace(target=target.fetched(request.target, engines))
    found = check_all(engines, request, jobs)
    checked = gated(read.files, found, request, controls)

    def whole() -> list[Assessment]:
        """The engines read whole, for formats that show more than findings."""
        return [
            assess(engine, request)._replace(
                findings=one.findings,
                not_evaluated=one.not_evaluated,
                suppressed=one.suppressed,
            )
            for engine, one in zip(engines, checked, strict=True)
        ]

    write_reports(report_of(checked, read.unreadable, whole), outputs)
    tell_doubts(checked)
    read.tell(counts(checked))
    raise typer.Exit(exit_code(checked, read.unreadable, gate))
