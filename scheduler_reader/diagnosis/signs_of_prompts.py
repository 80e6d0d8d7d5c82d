"""The signs of prompts in what was observed, and of what else holds requests beside free seats and blocks."""

from __future__ import annotations

from scheduler_reader.diagnosis.seen import Seen
from scheduler_reader.diagnosis.sign import BUSY, FILLED, FULL, SEATED, Sign, waiting_text
from scheduler_reader.diagnosis.verdict import Kind
from scheduler_reader.observe.observation import concurrency_of

# P99 of the gaps over a step of decodes alone: the strict objective of Agrawal et al., Sarathi-Serve,
# OSDI 2024, section 5.1; in its table 3 that is 0.1 to 0.2 s for models on one or two GPUs.
SPIKED = 5.0
NOTICEABLE_MS = 100.0
# A gap spans a step, the one in flight before it (async scheduling), and what a prediction is off.
SPANNED = 1 / 3
# More prompt tokens/s with twice the budget: what a predicted step may be off, as in `bottleneck`.
FASTER = 0.25
MOST = 0.5  # of those that wait


def _is_too_long(seen: Seen, p50: float | None, p99: float) -> bool:
    """Whether a gap misses the objective, or without one is far above the median."""
    limit = seen.slo.itl_ms
    if limit is not None:
        return p99 > limit > (p50 or 0.0)
    return p99 >= max(SPIKED * (p50 or 0.0), NOTICEABLE_MS)


def spikes(seen: Seen) -> Sign | None:
    """Gaps as long as a step that the token budget fills."""
    p50, p99 = seen.get("itl_p50_ms") or seen.get("tpot_ms"), seen.get("itl_p99_ms")
    budget = seen.token_budget
    if p99 is None or budget is None or not _is_too_long(seen, p50, p99):
        return None
    prompt, concurrency = seen.get("input_tokens_mean"), concurrency_of(seen.observation)
    is_chunked = seen.setting("enable_chunked_prefill") is not False
    tokens = float(budget) if is_chunked or prompt is None else prompt
    if prompt is not None and concurrency is not None:  # no step has more than are there
        tokens = min(tokens, prompt * concurrency)
    beside = "" if p50 is None else f" beside a median of {p50:,.0f} ms"
    kind: Kind = "chunk_too_large" if is_chunked else "prefill_unchunked"
    said = f"ITL p99 is {p99:,.0f} ms{beside}: a step of {tokens:,.0f} prompt tokens takes about "
    held = ", and every stream waits for it"
    step_ms = seen.step_ms_of_prompts(tokens)
    if step_ms is not None and step_ms >= SPANNED * p99:
        return Sign("chunked_prefill", kind, f"{said}{step_ms:,.0f} ms{held}")
    rate = seen.prompt_rate
    measured_ms = 1e3 * tokens * seen.engines / rate if rate else None
    if measured_ms is not None and SPANNED * p99 <= measured_ms <= p99 / SPANNED:
        says = f"{said}{measured_ms:,.0f} ms at the {rate:,.0f} prompt tokens/s observed{held}"
        return Sign("chunked_prefill", kind, says)
    if step_ms is None and p50 is not None:
        guess = (
            f"ITL p99 is {p99:,.0f} ms{beside}, as where steps carry prompts (up to {tokens:,.0f} "
            "tokens); how long such a step takes is not known here"
        )
        return Sign("chunked_prefill", kind, guess, "low")
    return None


def deferred(seen: Seen) -> Sign | None:
    """Most of those that wait were tried, and held for another reason than seats and blocks."""
    waiting, put_off = seen.get("waiting"), seen.get("waiting_deferred")
    running = seen.get("running")
    if not waiting or not put_off or waiting < 1 or put_off < MOST * waiting:
        return None
    ours = "" if running is None else f" beside {running:,.0f} that run"
    says = (
        f"vLLM defers {put_off:,.0f} of the {waiting:,.0f} requests that wait{ours}, by its own word for "
        "LoRA adapters, KV transfers or structured output, not for seats or KV blocks"
    )
    if seen.seats is not None and running is not None and running + put_off >= seen.seats:
        says += f"; with those that run they take the {seen.seats:,.0f} seats of max_num_seqs"
    return Sign("continuous_batching", "admission_stall", says)


def held(seen: Seen) -> Sign | None:
    """Requests wait though seats and blocks are free: arithmetic, or another limit of admission."""
    usage, waiting = seen.get("kv_cache_usage"), seen.get("waiting")
    running, seats = seen.get("running"), seen.seats
    if waiting is None or running is None or usage is None or waiting < 1 or usage >= FULL:
        return None
    if seats is not None and running >= SEATED * seats:
        return None
    tokens, budget, share = seen.get("step_tokens_mean"), seen.token_budget, seen.prefill_share
    wait = f"{waiting_text(waiting)} while seats and KV blocks are free"
    if tokens is not None and budget is not None and tokens >= FILLED * budget:
        says = f"a step computes {tokens:,.0f} tokens of at most {budget:,}"
        return _prefilling(seen, f"{wait}, and {says}: prefill takes all of the time")
    if share is not None and share >= FILLED:
        says = f"{seen.prompt_rate:,.0f} prompt tokens/s are what this GPU computes"
        return _prefilling(seen, f"{wait}, and {says}: prefill takes all of the time")
    is_prefilling = share is None and bool(seen.prompt_rate)
    if waiting <= running or is_prefilling or (share is not None and share >= BUSY):
        return None
    if share is None and seen.estimate and seen.estimate.waiting > seen.estimate.running:
        return None  # as predicted, and with reasons
    faster = seen.gain_of_twice_the_budget
    if share is None and faster is not None and faster >= FASTER:
        says = f"{wait}: a step of {budget:,} prompt tokens is short of work"
        return _prefilling(seen, says)._replace(confidence="low")
    says = (
        f"{wait} ({running:,.0f} run{'' if seats is None else f' of {seats:,.0f}'}, {usage:.0%} of the "
        "blocks are used), so a limit other than max_num_seqs admits no more: LoRA adapters, structured "
        "output, a KV connector, or partial prefills"
    )
    if share is None:
        says += "; or prompts fill the steps, which their tokens/s would tell"
    return Sign("continuous_batching", "admission_stall", says, "low" if share is None else None)


def _prefilling(seen: Seen, says: str) -> Sign:
    """What the steps go into, where prompts fill all of them."""
    faster, parts = seen.gain_of_twice_the_budget, seen.full_step
    if faster is not None and faster >= FASTER:
        says += f", and with twice the token budget it computes {faster:.0%} more of them"
        return Sign("chunked_prefill", "chunk_too_small", says)
    if parts is not None and parts.communication > max(parts.compute, parts.memory):
        share = parts.communication / sum(parts)
        says += f", {share:.0%} of it in collectives between the GPUs"
        return Sign("none", "communication_bound", says)
    return Sign("none", "compute_bound", says)
