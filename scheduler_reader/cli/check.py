"""`sched-reader check`: the findings of every engine below some folders, for CI and pre-commit."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.inputs import existing, read_slo, read_target, read_workload
from scheduler_reader.cli.output import FailOn, exit_code
from scheduler_reader.cli.paths import read_paths


class Format(StrEnum):
    text = "text"
    json = "json"


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
    gpu: options.GpuName = None,
    gpu_count: options.GpuCount = None,
    gpu_memory_used_gib: options.GpuMemoryUsed = None,
    offline: options.Offline = False,
    model_config: options.ModelConfig = None,
    hub: options.Hub = False,
    workload: options.WorkloadName = None,
    isl: options.InputTokens = None,
    osl: options.OutputTokens = None,
    concurrency: options.Concurrency = None,
    rate: options.Rate = None,
    slo_ttft_ms: options.SloTtft = None,
    slo_itl_ms: options.SloItl = None,
    slo_tpot_ms: options.SloTpot = None,
    format: Annotated[
        Format, typer.Option("--format", help="What stdout gets.", rich_help_panel=options.OUTPUT)
    ] = Format.text,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on", help="Exit 1 from this severity on.", rich_help_panel=options.OUTPUT
        ),
    ] = FailOn.error,
    require_facts: options.RequireFacts = False,
    select: options.Select = None,
    ignore: options.Ignore = None,
    rules: options.Rules = None,
) -> None:
    """Check every configuration below some folders: one line a finding, and an exit code.

    Files of a folder that serve no vLLM are passed over; a file that is named must be one.

    Examples:

      sched-reader check deploy/ --fail-on warning --ignore PRF

      helm template chart/ | sched-reader check - --vllm-version 0.18.0 --gpu l40s
    """
    from scheduler_reader.pipeline import Request, assess, check
    from scheduler_reader.rule_engine.selection import read_selection

    folders = [folder for folder in rules or [] if existing(folder, "--rules")]
    request = Request(
        target=read_target(
            context,
            vllm_version=vllm_version,
            gpu=gpu,
            gpu_count=gpu_count,
            gpu_memory_used_gib=gpu_memory_used_gib,
            offline=offline,
            model_config=model_config,
        ),
        workload=read_workload(workload, isl, osl, concurrency, rate),
        slo=read_slo(slo_ttft_ms, slo_itl_ms, slo_tpot_ms),
        rule_folders=folders,
        rules=read_selection(select or [], ignore or [], folders),
    )
    read = read_paths(paths or [], context.obj)
    engines = list(read.engines)
    if hub:
        from scheduler_reader.cli.hub import with_hub

        request = replace(request, target=with_hub(request.target, engines))
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
    raise typer.Exit(exit_code(checked, read.unreadable, fail_on, require_facts))
