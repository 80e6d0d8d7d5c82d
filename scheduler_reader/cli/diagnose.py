"""`sched-reader diagnose`: the whole reading of each engine found in each file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.inputs import existing, read_inputs, read_slo, read_target, read_workload
from scheduler_reader.cli.output import FailOn, Format, exit_code, read_targets, write_reports


def diagnose(
    context: typer.Context,
    configs: Annotated[
        list[str] | None,
        typer.Argument(metavar="CONFIG...", help="Files to read; - is stdin.", show_default=False),
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
    ] = Format.terminal,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="FORMAT=FILE",
            help="Write a format to a file as well (repeatable).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
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
    """Read each engine whole: does it start, what will run, what it gets, what limits it, what to change.

    Examples:

      sched-reader diagnose serve.yaml --vllm-version 0.18.0 --gpu h100

      sched-reader diagnose --gpu l4 -- vllm serve Qwen/Qwen3-8B --max-model-len 16384
    """
    from scheduler_reader.pipeline import Request, assess
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
    targets = read_targets(output or [])
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.engines if not engine.is_unreadable]
    if hub:
        from scheduler_reader.cli.hub import with_hub

        request = replace(request, target=with_hub(request.target, engines))
    assessments = [assess(engine, request) for engine in engines]
    write_reports(assessments, unreadable, format, targets)
    raise typer.Exit(exit_code(assessments, unreadable, fail_on, require_facts))
