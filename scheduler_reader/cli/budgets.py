"""`sched-reader budgets`: what each max_num_batched_tokens costs and gives."""

from __future__ import annotations

import typer

from scheduler_reader.cli import options
from scheduler_reader.cli.groups import Load, Target, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import FINDINGS, UNREADABLE
from scheduler_reader.cli.plain_options import Configs, FormatOption, PlainFormat


@takes_groups
def budgets(
    context: typer.Context,
    configs: Configs = None,
    *,
    vllm_version: options.VllmVersion = None,
    target: Target,
    load: Load,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Compare token budgets: KV blocks left, length of a full step, TTFT, ITL, tokens/s, goodput.

    With an objective it says which max_num_batched_tokens is right.

    Example:

      sched-reader budgets serve.yaml --gpu h100 --isl 4000 --osl 300 --slo-itl-ms 60
    """
    from scheduler_reader.resolve import resolve
    from scheduler_reader.simulate.budgets import BudgetTable, compare_budgets
    from scheduler_reader.value import Unknown
    from scheduler_reader.workload import DEFAULT_WORKLOAD

    stated = target.read(context, vllm_version)
    workload, slo = load.read() or DEFAULT_WORKLOAD, load.slo()
    files, unreadable = read_inputs(configs or [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    stated = target.fetched(stated, engines)
    tables: list[BudgetTable] = []
    missing = []
    for parsed in engines:
        found = compare_budgets(resolve(parsed, stated), workload, slo)
        if isinstance(found, Unknown):
            missing.append(f"{parsed.origin}: no budgets to compare: {found.reason}")
        else:
            tables.append(found.value)
    if format is PlainFormat.json:
        from scheduler_reader.report import budgets as report

        typer.echo(report.render(tables), nl=False)
    else:
        from rich.console import Console

        from scheduler_reader.report.terminal import budgets as terminal

        for i, table in enumerate(tables):
            if i:
                typer.echo()
            terminal.render(table, Console())
    for message in (*missing, *(bad.message for bad in unreadable)):
        tell(message)
    if unreadable:
        raise typer.Exit(UNREADABLE)
    raise typer.Exit(FINDINGS if missing else 0)
