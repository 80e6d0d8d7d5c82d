"""A run in which KV blocks run out: request by request, from event to event.

What `event_driven` cannot count, each request's tokens and blocks tell: who is preempted, and what
is computed anew.  The decisions are those of `stepwise` for synchronous scheduling, first come
first served; outputs in flight are not modelled, so with asynchronous scheduling a request joins
one step early.  Cost grows with events times running requests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Arrival, Source
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig, check
from scheduler_reader.simulate.decode_line import DecodeLine
from scheduler_reader.simulate.event_driven import NotPlainError
from scheduler_reader.simulate.result import Gaps, RequestRecord, SimulationResult


def run_crowded(
    config: EngineConfig, release: Release, step_model: StepModel, arrivals: Source
) -> SimulationResult:
    """Serve all requests of a source (`event_driven.is_plain` settings), preempting where needed.

    Raises `NotPlainError` where requests share prefixes or one of them can never be scheduled,
    `UsageError` when the release refuses the settings.
    """
    run = _Run(config, release, step_model, arrivals)
    while run.advance():
        pass
    return run.result()


@dataclass(slots=True, eq=False)
class _Request:
    """One request; `known` tokens are its prompt and what it has put out."""

    arrival: Arrival
    output_tokens: int
    known: int
    computed: int = 0
    blocks: int = 0
    outputs: int = 0
    admitted_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float = 0.0
    preemptions: int = 0
    gaps: list[Gaps] = field(default_factory=list)

    @property
    def is_decoding(self) -> bool:
        return self.computed >= self.arrival.prompt_tokens and self.computed + 1 == self.known

    @property
    def left(self) -> int:
        return self.output_tokens - self.outputs

    def receive(self, time_s: float, tokens: int) -> None:
        """Tokens at equal distances, the last of them now."""
        if self.first_token_s is None:
            self.first_token_s = time_s
        else:
            self.gaps.append(Gaps((time_s - self.last_token_s) / tokens, tokens))
        self.last_token_s = time_s
        self.outputs += tokens
        self.known += tokens

    def record(self) -> RequestRecord:
        assert self.arrival.time_s is not None
        return RequestRecord(
            number=self.arrival.number,
            prompt_tokens=self.arrival.prompt_tokens,
            output_tokens=self.outputs,
            arrival_s=self.arrival.time_s,
            admitted_s=self.admitted_s,
            first_token_s=self.first_token_s,
            finished_s=self.last_token_s,
            preemptions=self.preemptions,
            gaps=self.gaps,
        )


class _Run:
    def __init__(
        self, config: EngineConfig, release: Release, step_model: StepModel, arrivals: Source
    ) -> None:
        behaviour = behaviour_of(release)
        check(config, behaviour, release.name)
        self._config = config
        self._size = config.block_size
        self._reserves = behaviour.reserves_known_tokens and config.scheduler_reserve_full_isl
        self._arrivals = arrivals
        self._line = DecodeLine(step_model)
        self._seconds = step_model.step_seconds
        self._free = config.num_gpu_blocks - 1
        self._waiting: deque[_Request] = deque()
        self._running: list[_Request] = []
        self._finished: list[_Request] = []
        self._now_s = self._busy_s = 0.0
        self._steps = 0

    def advance(self) -> bool:
        """One step or a stretch of them; False when all is done."""
        self._receive()
        if not self._running and not self._waiting:
            if self._arrivals.next_s == inf:
                return False
            self._now_s = self._arrivals.next_s
        elif not self._stretch():
            self._step()
        return True

    def result(self) -> SimulationResult:
        records = sorted(request.record() for request in self._finished)
        return SimulationResult(
            records=tuple(records),
            duration_s=self._now_s,
            steps=self._steps,
            busy_s=self._busy_s,
            preemptions=sum(record.preemptions for record in records),
            num_blocks=self._config.num_gpu_blocks,
            block_size=self._size,
        )

    def _receive(self) -> None:
        while self._arrivals.next_s <= self._now_s:
            arrival = self._arrivals.take()
            room = self._config.max_model_len - arrival.prompt_tokens
            if arrival.prefix_group is not None or room < 1:
                raise NotPlainError("requests share prefixes, or are longer than the model takes")
            output = min(arrival.output_tokens, room)
            self._waiting.append(_Request(arrival, output, arrival.prompt_tokens))

    # One step

    def _step(self) -> None:
        budget = self._config.max_num_batched_tokens
        batch: list[tuple[_Request, int]] = []
        has_preempted = False
        for request in list(self._running):
            tokens = min(request.known - request.computed, budget)
            while request.blocks and not self._extend(request, tokens):
                self._preempt()
                has_preempted = True
            if not request.blocks or not tokens:  # preempted, or nothing is left of the budget
                break
            batch.append((request, tokens))
            budget -= tokens
        if not has_preempted:
            self._admit(batch, budget)
        if not batch and not has_preempted:
            raise NotPlainError("a request waits for more KV blocks than there are")
        self._execute(batch)

    def _extend(self, request: _Request, tokens: int) -> bool:
        """Give a request the blocks of its next tokens; False when they are not there."""
        more = -(-(request.computed + tokens) // self._size) - request.blocks
        if more > self._free:
            return False
        if more > 0:
            self._free -= more
            request.blocks += more
        return True

    def _preempt(self) -> None:
        """Take everything from the last that came; it goes ahead of all that wait."""
        victim = self._running.pop()
        self._free += victim.blocks
        victim.blocks = victim.computed = 0
        victim.preemptions += 1
        self._waiting.appendleft(victim)

    def _admit(self, batch: list[tuple[_Request, int]], budget: int) -> None:
        while budget > 0 and self._can_admit(budget):
            request = self._waiting.popleft()
            tokens = min(request.known, budget)
            self._extend(request, tokens)
            if request.admitted_s is None:
                request.admitted_s = self._now_s
            self._running.append(request)
            batch.append((request, tokens))
            budget -= tokens

    def _can_admit(self, budget: int) -> bool:
        if not self._waiting or len(self._running) >= self._config.active_limit:
            return False
        known = self._waiting[0].known
        needed = known if self._reserves else min(known, budget)
        headroom = self._config.watermark_blocks if self._running else 0
        return -(-needed // self._size) + headroom <= self._free

    def _execute(self, batch: list[tuple[_Request, int]]) -> None:
        decoding = context = 0
        chunks = []
        for request, tokens in batch:
            if request.is_decoding:
                decoding += 1
                context += request.known
            else:
                chunks.append((tokens, request.computed))
        self._pass(self._seconds(decoding, context, chunks), 1 if batch else 0)
        for request, tokens in batch:
            request.computed += tokens
            if request.computed == request.known:
                request.receive(self._now_s, 1)
        self._end_those_through()

    def _pass(self, seconds: float, steps: int) -> None:
        self._now_s += seconds
        self._busy_s += seconds
        self._steps += steps

    def _end_those_through(self) -> None:
        through = [request for request in self._running if not request.left]
        if not through:
            return
        self._running = [request for request in self._running if request.left]
        for request in through:
            self._free += request.blocks
            self._finished.append(request)
            self._arrivals.finished(self._now_s)

    # Many steps at once; only the last that was admitted can be in its prompt still

    def _stretch(self) -> bool:
        """Decode up to the next event; False when it is at hand."""
        running = self._running
        budget = self._config.max_num_batched_tokens - len(running)
        if not running or not running[-1].is_decoding or self._can_admit(budget):
            return False
        steps = self._steps_with_blocks(min(request.left for request in running))
        context = sum(request.known for request in running)
        stretch = self._line.stretch(len(running), context, steps)
        steps = stretch.steps
        takes_more = not self._waiting and len(running) < self._config.active_limit
        if takes_more and self._arrivals.next_s < inf:
            steps = min(steps, stretch.before(self._arrivals.next_s - self._now_s))
        if steps < 2:
            return False
        self._pass(stretch.total(steps), steps)
        for request in running:
            request.computed += steps
            blocks = -(-request.computed // self._size)
            self._free -= blocks - request.blocks
            request.blocks = blocks
            request.receive(self._now_s, steps)
        self._end_those_through()
        return True

    def _steps_with_blocks(self, most: int) -> int:
        """How many of `most` decode steps the free blocks last."""
        size, running = self._size, self._running
        slack = sum(request.blocks * size - request.computed for request in running)
        high = min(most, (self._free * size + slack) // len(running))
        low = max(0, high - size)
        while low < high:
            middle = (low + high + 1) // 2
            taken = sum(-(-(each.computed + middle) // size) - each.blocks for each in running)
            if taken <= self._free:
                low = middle
            else:
                high = middle - 1
        return low
