"""Where the gaps between modes come from, in sentences: prefill, decode, or the tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.simulate.modes import Mode, ModeRun

EQUAL = 0.02  # modes whose metric differs by less are called equal
NOTHING = 0.005  # a share below it is not worth its words

TITLES = {
    Mode.naive: "one at a time",
    Mode.static: "static batches",
    Mode.continuous: "continuous",
    Mode.chunked: "continuous+chunked",
}


def sentences(runs: Sequence[ModeRun]) -> tuple[str, ...]:
    """One sentence for each step from a mode to the next, and whether the last one dominates."""
    done = [run for run in runs if run.metrics.finished]
    gaps = [_gap(before, after) for before, after in pairwise(done)]
    last = next((run for run in done if run.mode is Mode.chunked), None)
    if last is not None and len(done) > 1:
        gaps.append(_dominance(last, [run for run in done if run is not last]))
    return tuple(gaps)


def _gap(before: ModeRun, after: ModeRun) -> str:
    ratio = after.metrics.output_tokens_per_s / before.metrics.output_tokens_per_s
    head = f"{TITLES[before.mode]} → {TITLES[after.mode]}: "
    if abs(ratio - 1) < EQUAL and all(abs(a / b - 1) < EQUAL for a, b in _tails(before, after)):
        return f"{head}the same tokens/s and the same tail."
    if abs(ratio - 1) < EQUAL:
        return f"{head}the same tokens/s; what changes is the tail: {_tail(before, after)}."
    return f"{head}{_times(ratio)} the tokens/s, {_source(before, after)}; tail: {_tail(before, after)}."


def _source(before: ModeRun, after: ModeRun) -> str:
    """Which part of the engine's time an output token got cheaper (or dearer) in."""
    prefill = _per_token(before, before.prefill_s) - _per_token(after, after.prefill_s)
    decode = _per_token(before, before.decode_s) - _per_token(after, after.decode_s)
    saved = prefill + decode
    if abs(saved) < EQUAL * _per_token(before, before.prefill_s + before.decode_s):
        return "at the same engine time a token (the rest is idle time)"
    word = "saved" if saved > 0 else "added"
    seqs = f"{before.decode_seqs:.1f} → {after.decode_seqs:.1f} sequences decoded a step"
    padding = ""
    if before.padding_waste > after.padding_waste:
        padding = f", {before.padding_waste:.0%} of the computed tokens were padding"
    if prefill / saved < NOTHING:
        return f"the engine time {word} per token is all decode ({seqs}{padding})"
    if decode / saved < NOTHING:
        return f"the engine time {word} per token is all prefill ({seqs}{padding})"
    share = decode / saved
    return (
        f"the engine time {word} per token is {share:.0%} decode and {1 - share:.0%} prefill "
        f"({seqs}{padding})"
    )


def _per_token(run: ModeRun, seconds: float) -> float:
    return seconds / max(run.output_tokens, 1)


def _tail(before: ModeRun, after: ModeRun) -> str:
    parts = [
        f"{name} p99 {milliseconds(first.p99)} → {milliseconds(second.p99)}"
        for name, first, second in (
            ("TTFT", before.metrics.ttft_ms, after.metrics.ttft_ms),
            ("ITL", before.metrics.itl_ms, after.metrics.itl_ms),
        )
        if first is not None and second is not None
    ]
    return ", ".join(parts)


def _tails(before: ModeRun, after: ModeRun) -> Iterator[tuple[float, float]]:
    for name in ("TTFT p99", "ITL p99"):
        first, second = _value(before, name), _value(after, name)
        if first and second:
            yield first, second


def _dominance(last: ModeRun, others: Sequence[ModeRun]) -> str:
    """Whether continuous+chunked is best in everything, and where it is not."""
    better = []
    for name, sign in (("tokens/s", 1), ("TTFT mean", -1), ("TTFT p99", -1), ("ITL p99", -1)):
        own = _value(last, name)
        best = max(others, key=lambda run: sign * (_value(run, name) or -sign * float("inf")))
        value = _value(best, name)
        if own and value and sign * (value - own) > EQUAL * own:
            better.append(f"{name} is {abs(value / own - 1):.0%} better {_in(best, last)}")
    if better:
        return f"continuous+chunked does not dominate here: {'; '.join(better)}."
    return f"continuous+chunked is best or within {EQUAL:.0%} of the best in every column here."


def _in(run: ModeRun, last: ModeRun) -> str:
    """The mode, and what it pays for it in throughput."""
    share = run.metrics.output_tokens_per_s / last.metrics.output_tokens_per_s
    price = f", at {share:.0%} of the tokens/s" if share < 1 - EQUAL else ""
    return f"with {TITLES[run.mode]}{price}"


def _value(run: ModeRun, name: str) -> float | None:
    metrics = run.metrics
    if name == "tokens/s":
        return metrics.output_tokens_per_s
    latency: Latency | None = metrics.itl_ms if name == "ITL p99" else metrics.ttft_ms
    if latency is None:
        return None
    return latency.mean if name == "TTFT mean" else latency.p99


def _times(ratio: float) -> str:
    return f"{ratio:.2g}×" if ratio < 10 else f"{ratio:.0f}×"


def milliseconds(value: float | None) -> str:
    """`41 ms`, `1.24 s`, `98.5 s`; `-` where there is none."""
    if value is None:
        return "-"
    if value < 1e3:
        return f"{value:.0f} ms"
    return f"{value / 1e3:.2f} s" if value < 1e4 else f"{value / 1e3:,.1f} s"
