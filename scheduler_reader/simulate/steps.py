"""Replay of a case step by step, and the trace of its decisions.

Time is counted in calls of schedule().  As in the engine's loop, a call is made while fewer
batches are in flight than the engine keeps; else the oldest is completed first
(vllm/v1/engine/core.py, EngineCore.step_with_batch_queue).
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.case import Case
from scheduler_reader.simulate.engine import Engine
from scheduler_reader.simulate.request import Request
from scheduler_reader.simulate.scheduler import Scheduler

_GIVE_UP = 3  # empty steps in a row after which nothing but an arrival can change anything


@dataclass(slots=True)
class Trace:
    """Rows of decisions; `is_stalled`: requests were left that no step could schedule."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    is_stalled: bool = False


def replay(case: Case, release: Release) -> Trace:
    """Run a case to its end, its last step or a standstill.

    Raises `UsageError` when the release refuses the options, `EngineError` when it breaks.
    """
    engine = Engine(case.config, release, _Cycle(case.accept_cycle))
    pending = deque(sorted(case.requests, key=lambda each: (each.arrival, each.number)))
    rows: deque[dict[str, Any]] = deque()  # of the batches in flight
    trace = Trace()
    unfinished = step = idle = 0
    while step < case.max_steps:
        while pending and pending[0].arrival <= step:
            engine.add(pending.popleft())
            unfinished += 1
        if not unfinished and not engine.in_flight:
            if not pending:
                break
            step = pending[0].arrival
            continue
        if unfinished:
            was_alone = not engine.in_flight
            batch = engine.launch()
            rows.append(trace_row(step, batch, engine.scheduler))
            trace.steps.append(rows[-1])
            is_idle = was_alone and not batch.shares and not batch.preempted
            idle = idle + 1 if is_idle else 0
            queues_empty = engine.queues_empty_steps and idle <= engine.overlap.batches_in_flight
            if not engine.is_full and (batch.shares or queues_empty):
                step += 1
                continue
            if idle > _GIVE_UP:
                if not pending:
                    trace.is_stalled = True
                    break
                step = max(step, pending[0].arrival - 1)
                idle = 0
        _, finished = engine.complete()
        row = rows.popleft()
        if finished:
            row["fin"] = _numbers(finished)
        unfinished -= len(finished)
        step += 1
    return trace


def trace_row(step: int, batch: Batch, scheduler: Scheduler) -> dict[str, Any]:
    """The decisions of one step: numbers of requests, tokens and blocks.

    `s` scheduled [request, tokens], `new`, `res`umed and `pre`empted requests, `hit` tokens found
    cached, `draft` and `acc`epted tokens, `run`ning order, `wq` waiting order, `free` blocks.
    """
    row: dict[str, Any] = {
        "t": step,
        "s": [[request.number, share.tokens] for request, share in batch.shares.items()],
    }
    preempted = sorted(batch.preempted, key=lambda each: (each.arrival, each.number))
    lists = {"new": batch.new, "res": batch.resumed, "pre": preempted}
    row |= {name: _numbers(requests) for name, requests in lists.items() if requests}
    starts = {request.number: batch.shares[request].start for request in batch.new + batch.resumed}
    if any(starts.values()):
        row["hit"] = {str(number): start for number, start in starts.items() if start}
    drafted = {each.number: share for each, share in batch.shares.items() if share.drafts}
    if drafted:
        row["draft"] = {str(number): share.drafts for number, share in drafted.items()}
        row["acc"] = {str(number): share.returned - 1 for number, share in drafted.items()}
    row["run"] = _numbers(scheduler.running)
    waiting = [request.number for request in scheduler.waiting]
    row["wait"] = len(waiting)
    if waiting:
        row["wq"] = waiting
    row["free"] = scheduler.kv.free
    return row


def _numbers(requests: list[Request]) -> list[int]:
    return [request.number for request in requests]


class _Cycle:
    """Acceptance as the case says it: each request goes through the same cycle of counts."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        self._counts = counts
        self._verifications: Counter[Request] = Counter()

    def __call__(self, request: Request, drafts: int) -> int:
        accepted = self._counts[self._verifications[request] % len(self._counts)]
        self._verifications[request] += 1
        return min(accepted, drafts)
