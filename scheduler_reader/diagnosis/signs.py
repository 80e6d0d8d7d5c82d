"""The signs of each class in what was observed.

The queues decide.  Requests that wait beside used-up blocks are starved of KV cache; that wait
beside free blocks and full seats are stalled at admission; that wait beside neither are held by
arithmetic where prompts fill the steps, by another limit of admission where they do not.  Where
nobody waits and little is done, the load does not reach the engine.

Where a sign begins has its source beside it; one without is judgement, as no source measures it.
`tests/diagnosis` has each of them.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduler_reader.diagnosis.evidence import figure
from scheduler_reader.diagnosis.objective import WORTH_NAMING
from scheduler_reader.diagnosis.seen import Seen
from scheduler_reader.diagnosis.sign import BUSY, FULL, SEATED, Sign, waiting_text
from scheduler_reader.diagnosis.signs_of_prompts import deferred, held, spikes
from scheduler_reader.observe.observation import ENOUGH_REQUESTS
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD

ALL_USED = 0.95  # of the KV blocks, where it is not known whether anybody waits
PREEMPTED = WORTH_NAMING  # preemptions a request: each repeats its prefill
OVERLOADED = 1.1  # requests sent over requests served
REACHING = 0.8  # of the requests that the client keeps open; by Little's law also of their time
IDLE = REACHING  # requests running and waiting: fewer than one client that always asks has open
QUEUED = 0.1  # of the requests that are given tokens
HELD = 0.8  # of the KV blocks, by requests that are given tokens: those in prefill hold some too
SLOWED = 0.1  # of the engine's time, where requests run and others wait for them
DEFAULT_TOKENS = DEFAULT_WORKLOAD.input_tokens.mean + DEFAULT_WORKLOAD.output_tokens.mean


def first_sign(seen: Seen) -> Sign | None:
    """The first look that tells; None where none does."""
    return next((sign for look in LOOKS if (sign := look(seen)) is not None), None)


# Each look at the metrics gives a sign, or None where they do not tell.


def _outrun(seen: Seen) -> Sign | None:
    """More is sent than served, and the prompts alone take longer than they are sent in.

    Then neither blocks nor seats help, however full they are.
    """
    sign, share = _overload(seen), seen.prefill_share
    offered, served = seen.get("offered_requests_per_s"), seen.get("requests_per_s")
    if sign is None or share is None or not offered or not served:
        return None
    needed = share * offered / served
    if needed <= 1:
        return None
    says = f"{sign.sentence}; the prompts alone take {needed:,.1f} times as long as the load lasted"
    return sign._replace(sentence=says)


def _overload(seen: Seen) -> Sign | None:
    offered, served = seen.get("offered_requests_per_s"), seen.get("requests_per_s")
    if not seen.observation.is_open_loop or not offered or not served:
        return None
    ttft_ms, itl_ms = seen.get("ttft_mean_ms"), seen.get("tpot_ms") or seen.get("itl_mean_ms")
    if offered < OVERLOADED * served or ttft_ms is None or (itl_ms and ttft_ms < 20 * itl_ms):
        return None
    return Sign(
        "none",
        "saturated",
        f"{figure(offered)} requests/s were sent and {figure(served)} served, with a mean TTFT of "
        f"{ttft_ms / 1e3:,.1f} s: the queue grew for as long as the load lasted",
    )


def _starvation(seen: Seen) -> Sign | None:
    usage, waiting = seen.get("kv_cache_usage"), seen.waiting_for_room
    preempted, count = seen.get("preemptions_per_request"), seen.get("preemptions")
    if usage is not None and waiting is not None and waiting >= 1 and usage >= FULL:
        sentence = f"{usage:.0%} of the KV blocks are used and {waiting_text(waiting)}"
    elif preempted is not None and preempted > PREEMPTED:
        sentence = f"{preempted:,.2f} preemptions a request: blocks run out while requests grow"
    elif usage is not None and usage >= FULL and count:
        sentence = (
            f"{usage:.0%} of the KV blocks are used, and requests were preempted {count:,.0f} times"
        )
    elif usage is not None and usage >= ALL_USED and waiting is None:
        sentence = f"{usage:.0%} of the KV blocks are used: the next request finds none"
    else:
        return _no_room(seen)
    return Sign("paged_attention", "kv_starvation", sentence)


def _no_room(seen: Seen) -> Sign | None:
    """Requests wait beside free seats, and what is free of the blocks is less than the next takes."""
    usage, waiting, running = seen.get("kv_cache_usage"), seen.waiting_for_room, seen.get("running")
    tokens, prompt, seats = seen.kv_tokens, seen.get("input_tokens_mean"), seen.seats
    if waiting is None or waiting < 1:
        return None
    if usage is not None and tokens is not None and prompt is not None:
        free = (1 - usage) * tokens
        says = (
            f"{waiting_text(waiting)}, and the {free:,.0f} tokens of free KV blocks are fewer "
            f"than a prompt of {prompt:,.0f} takes"
        )
        return Sign("paged_attention", "kv_starvation", says) if free < prompt else None
    fitting = seen.get("max_concurrency")
    if usage is not None or running is None or seats is None or fitting is None:
        return None
    if running >= SEATED * seats or running / seen.engines < fitting:
        return None
    says = (
        f"{waiting_text(waiting)} beside free seats ({running:,.0f} run of {seats:,.0f}), and the KV "
        f"blocks hold {fitting:,.2f} requests of full length"
    )
    return Sign("paged_attention", "kv_starvation", says, "low")


def _stall(seen: Seen) -> Sign | None:
    usage, waiting = seen.get("kv_cache_usage"), seen.waiting_for_room
    running, seats = seen.get("running"), seen.seats
    if waiting is None or running is None or usage is None or seats is None:
        return None
    if waiting < 1 or usage >= FULL or running < SEATED * seats:
        return None
    return Sign(
        "continuous_batching",
        "admission_stall",
        f"{running:,.0f} requests run of {seats:,.0f} that max_num_seqs allows, {waiting:,.0f} wait, "
        f"and {usage:.0%} of the KV blocks are used",
    )


def _crowd(seen: Seen) -> Sign | None:
    """More requests are open than there are seats, and the blocks hold all that are seated.

    So many as the client keeps open; or requests wait, and nobody counts those that run.
    """
    offered, waiting, seats = seen.get("offered_concurrency"), seen.waiting_for_room, seen.seats
    if seen.in_flight is not None or seats is None:
        return None
    if offered is not None and offered >= seats / SEATED:
        says = f"the client keeps {offered:,.0f} requests open"
    elif offered is None and waiting is not None and waiting >= 1:
        says = waiting_text(waiting)
    else:
        return None
    says += f" and max_num_seqs lets {seats:,.0f} run"
    tokens, length = seen.kv_tokens, seen.request_tokens
    if tokens is None:
        says += "; how much the KV blocks hold is not known"
        return Sign("continuous_batching", "admission_stall", says, "low")
    held = seats / seen.engines * (DEFAULT_TOKENS if length is None else length)
    if held >= FULL * tokens:
        return None
    says += f"; the KV blocks hold {tokens:,.0f} tokens, and those that run take about {held:,.0f}"
    says += " if they are as in the default load" if length is None else ""
    sure = offered is not None and length is not None
    return Sign("continuous_batching", "admission_stall", says, None if sure else "low")


def _turnover(seen: Seen) -> Sign | None:
    """Where nobody looked at the queues, what Little's law says of them.

    So many requests wait for their first token while those that are given tokens fill the blocks,
    or the seats.
    """
    decoding, queued, tokens = seen.decoding, seen.queued, seen.kv_tokens
    prompt, output = seen.get("input_tokens_mean"), seen.get("output_tokens_mean")
    if seen.get("waiting") is not None or decoding is None or queued is None or tokens is None:
        return None
    if prompt is None or output is None or queued < max(1.0, QUEUED * decoding):
        return None
    usage = seen.get("kv_cache_usage")
    held = decoding / seen.engines * (prompt + output / 2)
    full = held >= HELD * tokens if usage is None else usage >= FULL
    says = (
        f"by Little's law {queued:,.0f} requests wait for their first token, and the {decoding:,.0f} "
        "that are given tokens "
    )
    if full:
        says += f"take {held:,.0f} of the {tokens:,.0f} tokens that the KV blocks hold"
        return Sign("paged_attention", "kv_starvation", says, "medium")
    if seen.seats is None or decoding < FULL * seen.seats:
        return None
    says += f"take the {seen.seats:,.0f} seats of max_num_seqs; KV blocks are free"
    return Sign("continuous_batching", "admission_stall", says, "medium")


def _unfed(seen: Seen) -> Sign | None:
    """Nothing waits and hardly anything runs: the time goes by outside the engine."""
    inside, waiting, offered = seen.in_flight, seen.get("waiting"), seen.get("offered_concurrency")
    usage, tokens = seen.get("kv_cache_usage"), seen.output_rate
    if inside is None or (waiting is not None and waiting >= 1):
        return None
    if usage is not None and usage >= FULL:
        return None
    served = f", {figure(tokens)} output tokens/s" if tokens is not None else ""
    if offered is not None and offered >= 2 and inside < REACHING * offered and _is_long(seen):
        none = "" if waiting is None else ", none wait"
        sentence = f"the client keeps {offered:,.0f} requests open, {inside:,.0f} run{none}"
    elif waiting is not None and inside < IDLE and tokens:
        sentence = f"{inside - waiting:,.2g} requests run and {waiting:,.2g} wait"
    else:
        return None
    return Sign(
        "none",
        "not_scheduler",
        f"{sentence}{served}: the load does not reach the engine (client, proxy, tokenizer or "
        "preprocessing)",
    )


def _is_long(seen: Seen) -> bool:
    """Whether a run is so long that its start and end, with fewer requests open, do not count."""
    finished, offered = seen.get("requests"), seen.get("offered_concurrency") or 0.0
    return finished is None or finished >= ENOUGH_REQUESTS * offered


def _little_done(seen: Seen) -> Sign | None:
    """What is computed takes a small part of the engine's time, though nothing in it is short.

    Beside a queue only the requests that run tell: they are slower than any step explains.
    """
    share, waiting, inside = seen.busy_at_most, seen.get("waiting"), seen.in_flight
    prompts, outputs = seen.prompt_rate, seen.output_rate
    queue, running = waiting is not None and waiting >= 1, seen.get("running")
    if share is None or prompts is None or outputs is None or share >= (SLOWED if queue else BUSY):
        return None
    if (inside is not None and inside < IDLE) or (queue and not running):
        return None
    if spikes(seen) is not None:
        return None
    where = (
        "the rest passes outside of it (client, proxy, tokenizer or preprocessing)"
        if running is None
        else "no setting of the scheduler explains the rest (CPU, network between GPUs, kernels)"
    )
    return Sign(
        "none",
        "not_scheduler",
        f"{figure(prompts)} prompt and {figure(outputs)} output tokens/s take this engine "
        f"{max(share, 0.01):.0%} of its time at most: {where}",
    )


def _slow_reads(seen: Seen) -> Sign | None:
    """Tokens come more slowly than steps would that read all of the memory: for any model."""
    running, rate, longest = seen.get("running"), seen.output_rate, seen.longest_read_ms
    gap_ms = seen.get("tpot_ms") or seen.get("itl_mean_ms")
    if gap_ms is None and running and rate:
        gap_ms = 1e3 * running / rate
    if gap_ms is None or longest is None or gap_ms <= longest or not isinstance(seen.step, Unknown):
        return None
    if seen.prompt_rate or spikes(seen) is not None:
        return None
    says = (
        f"a request gets a token every {gap_ms:,.0f} ms, and to read all the memory that vLLM may use "
        f"takes this GPU {longest:,.0f} ms"
    )
    if seen.setting("enforce_eager") is True:
        says += "; without CUDA graphs the host launches every kernel of every step"
        return Sign("none", "host_bound", says, "low")
    says += "; no setting of the scheduler explains the rest (CPU, network between GPUs, kernels)"
    return Sign("none", "not_scheduler", says, "low")


def _any_preemption(seen: Seen) -> Sign | None:
    """Nothing tells how many requests were preempted: those that were found no blocks."""
    count, usage = seen.get("preemptions"), seen.get("kv_cache_usage")
    if not count or seen.get("preemptions_per_request") is not None:
        return None
    if usage is not None and usage < FULL:
        return None
    says = f"requests were preempted {count:,.0f} times: blocks ran out while they grew"
    return Sign("paged_attention", "kv_starvation", f"{says}; of how many is not known", "low")


LOOKS: tuple[Callable[[Seen], Sign | None], ...] = (
    _outrun,
    _starvation,
    _stall,
    _crowd,
    deferred,
    _little_done,
    _turnover,
    _overload,
    spikes,
    held,
    _unfed,
    _slow_reads,
    _any_preemption,
)
