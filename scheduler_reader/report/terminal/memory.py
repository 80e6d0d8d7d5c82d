"""What fills one GPU's memory, and how many tokens and requests the KV cache holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan, MemoryTerms, Remedy
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import (
    BLANK,
    Bar,
    Block,
    Columns,
    Segment,
    Span,
    heading,
    paragraph,
)
from scheduler_reader.value import Known, Unknown

_TERMS = (
    ("weights", "W", "weights"),
    ("activations", "A", "activation"),
    ("CUDA graphs", "G", "graphs"),
    ("non-torch", "N", "non_torch"),
    ("KV cache", "K", "kv"),
    ("other processes", "O", "others"),
    ("unused", ".", "unused"),
)


def blocks(assessment: Assessment) -> Iterator[Block]:
    """The memory bar with its legend, then KV tokens, blocks and concurrency."""
    plan = assessment.capacity
    yield BLANK
    if plan.memory is None:
        yield heading("Memory of one GPU: ", f"not known: {wording.start_reason(plan)}")
    else:
        yield from _memory(plan.memory, assessment)
    rows = tuple(_capacity_rows(plan, assessment))
    if rows:
        yield Columns(rows, "ll")
    if plan.remedies:
        yield paragraph(("Sure to start with ", "head"), _remedies(plan.remedies), indent=2, hang=2)


def _memory(memory: MemoryTerms, assessment: Assessment) -> Iterator[Block]:
    sizes = [max(0.0, size) for size in _sizes(memory)]
    utilization = assessment.engine.value("gpu_memory_utilization")
    share = f" = {utilization.value:g} × total" if isinstance(utilization, Known) else ""
    if "kv_cache_memory_bytes" in assessment.engine.flags.settings:
        share = ": the stated KV cache and what is beside it"
    yield heading(
        "Memory of one GPU: ",
        f"{wording.gib(memory.total)} GiB, budget (|) {wording.gib(memory.budget)} GiB{share}",
    )
    segments = tuple(
        Segment(size, name, wording.gib(size), letter, style)
        for size, (name, letter, style) in zip(sizes, _TERMS, strict=True)
        if size or style != "others"
    )
    yield Bar(segments, memory.budget)
    if memory.kv_cache <= 0:
        short = wording.gib(-memory.kv_cache)
        yield paragraph((f"{short} GiB short of the first KV block.", "error"), indent=2)


def _sizes(memory: MemoryTerms) -> tuple[float, ...]:
    """Bytes in the order of the legend; what nothing uses comes last."""
    used = (
        memory.weights,
        memory.activation,
        memory.cuda_graphs,
        memory.non_torch,
        memory.kv_cache,
        memory.others,
    )
    return (*used, max(0.0, memory.total - sum(max(0.0, size) for size in used)))


def _capacity_rows(plan: CapacityPlan, assessment: Assessment) -> Iterator[tuple[Span, Span]]:
    if plan.num_blocks and plan.kv_cache_tokens is not None:
        low, high = plan.low, plan.high
        spread = ""
        if low and high and low.kv_cache_tokens != high.kv_cache_tokens:
            spread = f" ({low.kv_cache_tokens:,}–{high.kv_cache_tokens:,})"
        blocks = f"{plan.num_blocks:,} blocks of {plan.block_size or 0:,}"
        yield ("KV cache", "head"), (f"{plan.kv_cache_tokens:,} tokens{spread}, {blocks}", "")
    holds = list(_requests(plan, assessment))
    if holds:
        yield ("Requests", "head"), (", ".join(holds), "")


def _requests(plan: CapacityPlan, assessment: Assessment) -> Iterator[str]:
    """How many requests fit: of the longest kind, of the workload's, and how long one could be."""
    longest = assessment.engine.value("max_model_len")
    limit = f"{plan.largest_max_model_len:,}" if plan.largest_max_model_len else ""
    if plan.max_concurrency and not isinstance(longest, Unknown):
        is_refused = plan.largest_max_model_len and plan.largest_max_model_len < longest.value
        fits_none = plan.max_concurrency < 1 or is_refused
        number = "less than one" if fits_none else _requests_text(plan.max_concurrency)
        is_news = limit and plan.largest_max_model_len != longest.value
        possible = f" (at most {limit})" if is_news else ""
        yield f"{number} of max_model_len {longest.value:,}{possible}"
    elif limit:
        yield f"a max_model_len of at most {limit}"
    if plan.workload_concurrency and plan.starts is not False:
        yield f"{_requests_text(plan.workload_concurrency)} of this workload"


def _requests_text(number: float) -> str:
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


def _remedies(remedies: Sequence[Remedy]) -> str:
    """Single changes with which the engine starts, and the longest request it could then serve."""
    parts = []
    for length, alike in groupby(remedies, _length_left):
        options = [" ".join(wording.command_options(remedy.changes)) for remedy in alike]
        each = "each with a " if len(options) > 1 else ""
        limit = "" if length is None else f" ({each}max_model_len up to {length:,})"
        parts.append(", or ".join(options) + limit)
    return ", or ".join(parts)


def _length_left(remedy: Remedy) -> int | None:
    """The longest request after a change; None where the change is that length."""
    return None if "max_model_len" in remedy.changes else remedy.largest_max_model_len
