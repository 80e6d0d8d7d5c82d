"""Pipeline stages: how many batches of an engine are in flight, and what prompts wait for in them.

As many batches as stages may be in flight, and a request is in one of them at most, as its next
token needs its last one.  All requests that are free when a batch is decided go into it
(vllm/v1/core/sched/scheduler.py, Scheduler.schedule).  So a group of requests stays together, and
another one only begins where prompts do not fit into one batch: an engine of four stages whose
prompts all fit makes one pass after another, and three stages are idle.  With more groups passes
overlap, and each takes as long as one alone.

A pass of all stages takes the time of the step model; neglected is the transfer between stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from scheduler_reader.performance.rhythm import ROUNDING
from scheduler_reader.performance.steady import OperatingPoint, Replica
from scheduler_reader.performance.tails import WaitingTime, poisson_quantile
from scheduler_reader.record import Record

OVERFLOW = 0.98  # of the passes have room for all prompts that came: else another batch lives on


def with_batches(replica: Replica, batches: int) -> Replica:
    """The replica with so many batches in flight, at most one a stage."""
    stages = replica.step.batches_in_flight
    if batches >= stages:
        return replica
    return replica._replace(step=replace(replica.step, batches_in_flight=max(1, batches)))


def grouped(replica: Replica, requests: float) -> Replica:
    """The replica with the batches that the prompts of so many requests at once make."""
    tokens = requests * replica.demand.computed_tokens
    return with_batches(replica, ceil(tokens / replica.limits.token_budget - ROUNDING))


def unstarted(
    replica: Replica, state: Callable[[Replica], OperatingPoint | None]
) -> tuple[Replica, OperatingPoint] | None:
    """The replica, and its state, where nobody starts together: one batch, and as many more as the
    prompts that arrive during a pass overflow now and then; None where all stages cannot keep up.
    """
    prompt, found = replica.demand.computed_tokens, None
    for batches in range(1, replica.step.batches_in_flight + 1):
        fewer = with_batches(replica, batches)
        point = state(fewer)
        if point is None:
            continue
        found = fewer, point
        arrivals = poisson_quantile(point.requests_per_s * point.mixed_step_s, OVERFLOW)
        if arrivals * prompt <= fewer.steps.room(point.decode_seqs):
            break
    return found


class Passes(Record):
    """A closed loop in step whose prompts fill several batches.  Times in seconds.

    A group's next prompts come when its last tokens are out, while a pass with the prompts of
    another group is under way; the engine waits for that pass before it looks for requests
    (vllm/v1/engine/core.py, EngineCore.step_with_batch_queue).  They are taken to come at any time
    of it, so they wait for half of it on average.  The first requests fill batch after batch.
    """

    point: OperatingPoint
    pass_s: float  # with the prompts of a request's group, on average over the requests
    wait_s: float  # for a pass of others
    first_s: float  # the first tokens of those that start together come from then
    last_s: float  # to then
    round_s: float  # from one first token of a client to its next one

    def waiting(self, burst: float, frontend_s: float, queue_s: float) -> WaitingTime:
        """The waits of a run of which that share of the requests starts together; the later ones
        wait that long for a seat.
        """
        first_s, last_s = frontend_s + self.first_s, frontend_s + self.last_s
        return WaitingTime(burst, first_s, last_s, frontend_s + self.pass_s + queue_s, self.wait_s)


def passes(replica: Replica, size: float, absent_s: float) -> Passes:
    """Of so many requests at once, each absent so long between two."""
    stages = replica.step.batches_in_flight
    replica = grouped(replica, size)._replace(follows=True)
    steps, point = replica.steps, replica.flow(size)
    beside, batches = point.decode_seqs, replica.step.batches_in_flight
    room, tokens = steps.room(beside) / batches, size * replica.demand.computed_tokens
    full = max(1, int(tokens / room + ROUNDING))
    rest = max(0.0, tokens - full * room)
    full_s = steps.mixed_seconds(beside, room * batches)
    rest_s = steps.mixed_seconds(beside, rest * batches) if rest >= 1 else 0.0
    share = rest / tokens
    pass_s = (1 - share) * full_s + share * rest_s
    # A long pass is under way more often than a short one.
    others_s = (full - 1) * full_s + rest_s
    others_wait_s = ((full - 1) * full_s**2 + rest_s**2) / (2 * others_s) if others_s else 0.0
    wait_s = (1 - share) * others_wait_s + share * full_s / 2
    last_s = full_s + ((full - 1) * full_s + rest_s) / stages
    round_s = absent_s + pass_s + wait_s + steps.gaps * point.itl_s
    return Passes(point, pass_s, wait_s, full_s, last_s, round_s)
