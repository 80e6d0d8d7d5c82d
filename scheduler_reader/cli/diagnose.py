"""`sched-reader diagnose`: the whole reading of each engine found in each file."""

from __future__ import annotations

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import (
    Gate,
    Load,
    Observed,
    Output,
    RuleChoice,
    Target,
    read_request,
    takes_groups,
)
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import exit_code, write_reports
from scheduler_reader.cli.plain_options import Configs


@takes_groups
def diagnose(
    context: typer.Context,
    configs: Configs = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    observed: Observed,
    output: Output,
    gate: Gate,
    choice: RuleChoice,
) -> None:
    """Read each engine whole: does it start, what will run, what it gets, what limits it, what to change.

    Examples:

      sched-reader diagnose serve.yaml --vllm-version 0.18.0 --gpu h100

      sched-reader diagnose --gpu l4 -- vllm serve Qwen/Qwen3-8B --max-model-len 16384
    """
    from scheduler_reader.cli.gating import gated
    from scheduler_reader.cli.reporting import report_of
    from scheduler_reader.pipeline import assess

    policy = gate.thresholds(context)
    request = read_request(target.read(context, vllm_version), load, choice, policy)
    request = request.observing(observed.read())
    controls = gate.controls(context, request.rule_folders)
    outputs = output.read("terminal")
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    request = request._replace(target=target.fetched(request.target, engines))
    assessed = [assess(engine, request) for engine in engines]
    assessments = gated(files, assessed, request, controls)
    write_reports(report_of(assessments, unreadable, lambda: assessments), outputs)
    for bad in unreadable:
        tell(bad.message)
    raise typer.Exit(exit_code(assessments, unreadable, gate))
