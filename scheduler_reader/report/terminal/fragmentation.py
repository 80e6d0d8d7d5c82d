"""KV waste of a length distribution for people: `sched-reader fragmentation`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scheduler_reader.capacity.fragmentation import Fragmentation
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout

if TYPE_CHECKING:
    from rich.console import Console


def render(found: Fragmentation, console: Console) -> None:
    """Print both ways to keep the requests, and what the waste follows from."""
    Layout(console).print(_blocks(found))


def _blocks(found: Fragmentation) -> Iterator[Block]:
    yield heading(f"{found.requests:,} requests, {found.mean_tokens:,.0f} tokens on average")
    if found.cut_requests:
        yield paragraph(f"{found.cut_requests:,} cut at {found.max_model_len:,} tokens", indent=2)
    rows = (
        _row("contiguous", f"{found.max_model_len:,} slots each", found.reserved_tokens, found),
        _row("blocks", f"of {found.block_size:,} tokens", found.block_tokens, found),
    )
    yield Columns(rows, "llrl")
    yield paragraph(f"Blocks hold {found.gain:.1f} times as many requests in the same memory.")
    yield BLANK
    yield heading("Waste of blocks")
    yield Columns(
        (
            (("formula", "dim"), (_formula(found), "")),
            (("counted", "dim"), (_counted(found), "")),
        ),
        "ll",
    )
    yield paragraph(
        f"It does not grow with a request, so a fixed share such as 4 % is right at one length "
        f"only: {found.paper_waste_length:,.0f} tokens."
    )


def _row(name: str, how: str, slots: int, found: Fragmentation) -> tuple[tuple[str, str], ...]:
    empty = 1 - found.held_tokens / slots
    return (name, "head"), (how, ""), (f"{slots:,} slots", ""), (f"{empty:.1%} empty", "set")


def _formula(found: Fragmentation) -> str:
    return (
        f"({found.block_size} − 1) / 2 = {found.expected_per_request:g} tokens a request; "
        f"{found.expected_per_request:g} / {found.mean_tokens:,.0f} = {found.expected_waste:.2%} "
        "of the tokens held"
    )


def _counted(found: Fragmentation) -> str:
    return f"{found.wasted_per_request:.2f} tokens a request, {found.block_waste:.2%}"
