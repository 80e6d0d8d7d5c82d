"""Token budgets side by side for people: `sched-reader budgets`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import Block, Columns, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout
from scheduler_reader.simulate.budgets import BUDGETS, Budget, BudgetTable
from scheduler_reader.value import Known

if TYPE_CHECKING:
    from rich.console import Console

HEAD = (
    "budget",
    "act. GiB",
    "KV blocks",
    "fit",
    "full step",
    "fills",
    "TTFT mean",
    "ITL p99",
    "tokens/s",
    "goodput/s",
)


LEGEND = (
    "act.: activations at the peak; fit: requests of this workload whose blocks fit; full step: how "
    "long a step takes that uses the whole budget for prompts, and the KV blocks that it fills."
)


def render(table: BudgetTable, console: Console) -> None:
    """Print the budgets of one engine."""
    Layout(console).print(_blocks(table))


def _blocks(table: BudgetTable) -> Iterator[Block]:
    engine = table.engine
    model = engine.model_id.value if isinstance(engine.model_id, Known) else "unknown model"
    hardware = f"{engine.hardware.count} × {engine.hardware.gpu.title}"
    yield heading(model, f" on {hardware}, vLLM {engine.release.name}")
    yield paragraph(
        f"{wording.workload_text(table.workload)}; a request takes {table.request_blocks:,} blocks "
        f"of {table.block_size}",
        hang=2,
    )
    shown = len(HEAD) if table.slo.is_set else HEAD.index("goodput/s")
    rows = [tuple((name, "dim") for name in HEAD[:shown])]
    rows += [tuple((cell, "") for cell in _row(one, table)[:shown]) for one in table.budgets]
    yield Columns(tuple(rows), "r" * shown)
    yield paragraph(LEGEND, hang=2)
    yield paragraph(_answer(table), hang=2)
    if table.budgets[0].tokens > min(BUDGETS):
        yield paragraph(
            f"Budgets below {table.least_is} ({table.least:,}) are refused by vLLM: lower it to see "
            "them.",
            hang=2,
        )


def _row(one: Budget, table: BudgetTable) -> tuple[str, ...]:
    memory, estimate = one.plan.memory, one.estimate
    name = f"{'* ' if one.is_current else ''}{one.tokens:,}"
    blocks = "" if one.plan.num_blocks is None else f"{one.plan.num_blocks:,}"
    activation = "" if memory is None else f"{memory.activation / GIB:.1f}"
    fit = "" if one.plan.workload_concurrency is None else f"{one.plan.workload_concurrency:,.0f}"
    cells = (name, activation, blocks, fit)
    if estimate is None:
        return (*cells, "does not start", *[""] * (len(HEAD) - len(cells) - 1))
    tail = estimate.itl_ms.p99
    return (
        *cells,
        wording.duration(one.full_step_ms),
        f"{one.blocks_of_step:,}",
        wording.duration(estimate.ttft_ms.mean),
        "" if tail is None else wording.duration(tail),
        wording.rate(estimate.output_tokens_per_s),
        wording.rate(estimate.goodput_requests_per_s) if table.slo.is_set else "",
    )


def _answer(table: BudgetTable) -> str:
    if not table.slo.is_set:
        return (
            "* as configured.  Which budget is right depends on the latency it has to keep: give "
            "--slo-itl-ms, --slo-ttft-ms or --slo-tpot-ms."
        )
    if any(one.estimate is not None and one.estimate.saturated for one in table.budgets):
        return (
            "* as configured.  More is offered than these budgets serve: no objective can be kept."
        )
    right = table.right
    if right is None or right.estimate is None:
        return "* as configured.  No budget keeps the objectives: the step is too long without prompts."
    kept = right.estimate.goodput_requests_per_s / right.estimate.requests_per_s
    return (
        f"* as configured.  Right for these objectives: {right.tokens:,}, the earliest first token "
        f"of the budgets with the most goodput; {kept:.0%} of the requests keep them."
    )
