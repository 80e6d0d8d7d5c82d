"""Quiet steps of an engine with pipeline stages: groups of decoding requests take turns.

Several batches are in flight.  Without asynchronous scheduling a request waits for its output, so
those in flight and those that are free go round, one group a step; with it all of them are in
every step, or (the V2 model runner) again one group each `stages` steps.  As in `quiet`, whole
rounds are made at once; only the times are taken step by step, for a step may wait for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from scheduler_reader.record import Record
from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch, Share
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.kv_manager import KVManager
from scheduler_reader.simulate.request import Request, Status

Group = list[Request]


class Rotation(Record):
    """Groups in the order of their turns, and how many rounds they may make, but only up to the
    next arrival where `ends_at_arrival`.
    """

    groups: list[Group]
    rounds: int
    ends_at_arrival: bool


class Clock(Record):
    """The time, when the last step is done, and when each of those in flight is."""

    now_s: float
    last_done_s: float
    done_s: tuple[float, ...]


class Timed(Record):
    """Rounds with their times: of each group, when it gets the tokens of steps that are done."""

    rounds: int
    received_s: list[list[float]]
    busy_s: float
    clock: Clock


def can_rotate(config: EngineConfig, overlap: Overlap) -> bool:
    """Whether the settings let groups go round by themselves."""
    return (
        config.pipeline_parallel_size > 1
        and not overlap.one_output
        and config.num_speculative_tokens == 0
        and config.sliding_window is None
        and config.prefill_schedule_interval == 1
    )


def rotation(
    config: EngineConfig,
    overlap: Overlap,
    running: Sequence[Request],
    waiting: Admission,
    kv: KVManager,
    *,
    in_flight: Sequence[Batch],
) -> Rotation | None:
    """The rounds ahead, or None where somebody is not decoding, could join, or is due to end."""
    if len(in_flight) != overlap.batches_in_flight - 1:
        return None
    groups = _groups(config, overlap, running, in_flight)
    if groups is None:
        return None
    budget = config.max_num_batched_tokens - max(map(len, groups))
    is_full = len(running) >= config.active_limit
    if budget < 0 or (not is_full and waiting and not waiting.stays_blocked(budget)):
        return None
    outstanding = overlap.batches_in_flight - 1 if len(groups) == 1 else 1
    rounds = _most_rounds(config, groups, in_flight, outstanding)
    if rounds > 1:
        rounds = kv.steps_with_room(running, rounds)
    return Rotation(groups, rounds, not is_full and (not waiting or config.policy == "priority"))


def _groups(
    config: EngineConfig, overlap: Overlap, running: Sequence[Request], in_flight: Sequence[Batch]
) -> list[Group] | None:
    """Who takes turns with whom; None where batches are not whole groups."""
    if any(not batch.shares for batch in in_flight) or not running:
        return None
    flying = [list(batch.shares) for batch in in_flight]
    if config.async_scheduling and overlap.decode_interval == 1:
        is_everybody = all(len(group) == len(running) for group in flying)
        return [list(running)] if is_everybody else None
    groups = flying
    if not config.async_scheduling:
        busy = {request for group in flying for request in group}
        groups = [[request for request in running if request not in busy], *flying]
    is_each_once = sum(map(len, groups)) == len(running) and all(groups)
    return groups if is_each_once else None


def _most_rounds(
    config: EngineConfig, groups: list[Group], in_flight: Sequence[Batch], outstanding: int
) -> int:
    if not all(share.samples for batch in in_flight for share in batch.shares.values()):
        return 0
    longest, most = config.max_model_len, config.max_model_len
    is_async = config.async_scheduling
    for turn, group in enumerate(groups):
        awaited = outstanding if is_async or turn else 0
        for request in group:
            known = request.prompt_tokens + request.outputs
            if (
                request.status is not Status.running
                or request.is_prefilling
                or request.stale
                or (is_async and request.placeholders != awaited)
                or known + awaited - request.computed != 1
            ):
                return 0
            last = min(request.max_tokens, longest - request.prompt_tokens)
            left = last - request.outputs - awaited
            most = min(most, left if awaited else left - 1)  # the last token may be in flight
    return most


def rotate(
    found: Rotation, kv: KVManager, overlap: Overlap, step: int, *, is_async: bool
) -> list[Batch]:
    """Make all rounds with no output in flight; the batches of the last steps, which are not done.

    `step` is the number of the last one.
    """
    groups, rounds, depth = found.groups, found.rounds, overlap.batches_in_flight
    kv.extend_all([request for group in groups for request in group], rounds)
    turns = len(groups)
    flying = [(turns - depth + 1 + place) % turns for place in range(depth - 1)]
    batches = []
    for turn, group in enumerate(groups):
        awaited = flying.count(turn)
        for request in group:
            request.computed += rounds
            request.outputs += rounds - awaited
            request.in_flight = awaited
            if is_async:
                request.placeholders = awaited
                request.eligible_step = step - (turns - 1 - turn) + overlap.decode_interval
            kv.commit(request, request.computed - request.placeholders)
    seen = [0] * turns
    for turn in flying:
        ahead = flying.count(turn) - seen[turn]
        seen[turn] += 1
        batch = Batch(0)
        for request in groups[turn]:
            batch.shares[request] = Share(request.computed - ahead, 1, True, 0, 1)
        batches.append(batch)
    return batches


def timed(
    found: Rotation,
    clock: Clock,
    stages: int,
    seconds: Callable[[int, int], float],
    until_s: float,
) -> Timed:
    """Whole rounds of which every step is decided before `until_s`.

    `seconds` gives the time of a pass by decoding requests and the sum of their contexts.  A pass
    begins when the first stage is free and, where it is decided earlier than that, when the pass
    before of the same group ends: its tokens are sampled then.
    """
    sizes = [len(group) for group in found.groups]
    contexts = [sum(each.computed + 1 for each in group) for group in found.groups]
    now_s, last_s, done_s = clock.now_s, clock.last_done_s, deque(clock.done_s)
    launched_s = list(clock.done_s)  # ends of passes, in the order in which groups take turns
    turns = len(sizes)
    ends_s: list[float] = []  # of all steps, those in flight before the first among them
    busy_s = 0.0
    whole = 0, busy_s, clock
    for rounds in range(1, found.rounds + 1):
        for turn, size in enumerate(sizes):
            if now_s >= until_s:
                return _of_groups(*whole, ends_s, turns)
            pass_s = seconds(size * stages, contexts[turn] * stages)
            contexts[turn] += size
            begin_s = max(now_s, last_s - pass_s * (stages - 1) / stages)
            if len(launched_s) >= turns:
                begin_s = max(begin_s, launched_s[-turns])
            last_s = max(begin_s + pass_s, last_s)
            launched_s.append(last_s)
            done_s.append(last_s)
            busy_s += pass_s / stages
            now_s = max(now_s, done_s.popleft())
            ends_s.append(now_s)
        whole = rounds, busy_s, Clock(now_s, last_s, tuple(done_s))
    return _of_groups(*whole, ends_s, turns)


def _of_groups(rounds: int, busy_s: float, clock: Clock, ends_s: list[float], turns: int) -> Timed:
    """Tell the steps of the groups apart; those that were in flight before come first."""
    own = ends_s[len(clock.done_s) : rounds * turns]
    return Timed(rounds, [own[turn::turns] for turn in range(turns)], busy_s, clock)
