"""Run the scheduler from event to event.

The decisions are those of `stepwise`, for the plain case: no drafts, no pipeline stages, no shared
prefixes.  There the decoding requests are one `Cohort`, and between two events (an arrival that can
be admitted, a finish, the end of a prompt, blocks running out) any number of steps is one sum.
Where a decision needs more than that (a preemption, a cached prefix), `NotPlainError` says so and
the run is made step by step.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import NamedTuple

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.cohort import Cohort, Ending
from scheduler_reader.simulate.config import EngineConfig, as_run, check, overlap_of
from scheduler_reader.simulate.decode_line import DecodeLine
from scheduler_reader.simulate.prompts import Arrived, Prompt, Prompts
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.step_log import Lives, StepLog
from scheduler_reader.simulate.waiting import TICKS_PER_S, WaitingQueue, queue_of


class NotPlainError(Exception):
    """A decision of this run depends on more than counts."""


def is_plain(config: EngineConfig) -> bool:
    """Whether an engine can be run from event to event, as long as nothing is preempted."""
    return (
        config.pipeline_parallel_size == 1
        and config.num_speculative_tokens == 0
        and config.prefill_schedule_interval == 1
        and config.sliding_window is None
    )


def run_event_driven(
    config: EngineConfig, release: Release, step_model: StepModel, arrivals: Source
) -> SimulationResult:
    """Serve all requests of a source; those that can never be scheduled end as `unfinished`.

    Raises `NotPlainError` when the run needs the exact scheduler, `UsageError` when the release
    refuses the settings.
    """
    run = _Run(config, release, step_model, arrivals)
    while run.advance():
        pass
    return run.result()


class _Batch(NamedTuple):
    """A step in flight: when it is done, whose first token it brings, and whom it ends."""

    done_s: float
    first_tokens: list[int]
    ends: list[Ending]
    is_empty: bool = False


class _Run:
    def __init__(
        self, config: EngineConfig, release: Release, step_model: StepModel, arrivals: Source
    ) -> None:
        behaviour = behaviour_of(release)
        config = as_run(config, behaviour)
        check(config, behaviour, release.name)
        if not config.enable_chunked_prefill and behaviour.unchunked_prefill == "passed_over":
            raise NotPlainError
        self._config = config
        self._arrivals = arrivals
        self._line = DecodeLine(step_model)
        self._mixed_seconds = step_model.step_seconds
        self._depth = overlap_of(config, behaviour).batches_in_flight
        self._reserves = behaviour.reserves_known_tokens and config.scheduler_reserve_full_isl
        self._log = StepLog()
        self._lives = Lives(self._log)
        self._now_s = self._last_done_s = self._busy_s = 0.0
        self._step = self._executed = self._open = self._running = 0
        self._free = config.num_gpu_blocks - 1
        self._waiting: WaitingQueue[Arrived] = queue_of(config.policy)
        self._in_flight: deque[_Batch] = deque()
        self._prompts = Prompts(config, behaviour)
        overdue_steps = int(self._depth > 1 and behaviour.output_limit == "none")
        last_position = config.max_model_len - int(behaviour.keeps_last_position)
        self._cohort = Cohort(config.block_size, last_position, overdue_steps)

    def advance(self) -> bool:
        """One turn of the engine's loop, or a stretch of them; False when all is done."""
        self._receive()
        if not self._open and not self._in_flight:
            return self._sleep()
        if self._open:
            if self._stretch():
                return True
            was_alone = all(batch.is_empty for batch in self._in_flight)
            is_empty = not self._launch()
            if not is_empty and len(self._in_flight) < self._depth:
                return True
            if is_empty and was_alone:
                while self._in_flight:
                    self._complete()
                return self._sleep()
        self._complete()
        return True

    def result(self) -> SimulationResult:
        finished_s = self._lives.finished_s
        stuck = [n for n, end_s in zip(self._lives.number, finished_s, strict=True) if end_s < 0]
        return SimulationResult(
            records=self._lives,
            duration_s=max(finished_s, default=0.0) if len(finished_s) > len(stuck) else 0.0,
            steps=self._executed,
            busy_s=self._busy_s,
            preemptions=0,
            num_blocks=self._config.num_gpu_blocks,
            block_size=self._config.block_size,
            unfinished=tuple(sorted(stuck)),
            token_gaps=None if stuck else self._log.gaps(),
        )

    def _receive(self) -> None:
        while self._arrivals.next_s <= self._now_s:
            number, time_s, prompt, output, group, _, priority = self._arrivals.take()
            assert time_s is not None
            room = self._config.max_model_len - prompt
            if group is not None or room < 1:
                raise NotPlainError
            output = min(output, room)
            place = self._lives.arrive(number, time_s, prompt, output)
            rank = (priority, round(time_s * TICKS_PER_S), number)
            self._waiting.add(Arrived(place, prompt, output, rank))
            self._open += 1

    def _sleep(self) -> bool:
        if self._arrivals.next_s == inf:
            return False
        self._now_s = max(self._now_s, self._arrivals.next_s)
        return True

    # One step

    def _launch(self) -> bool:
        """Decide the next step and put it in flight; False when nothing is in it."""
        step = self._step
        self._step += 1
        self._cohort.enter(step)
        decoding, context = self._cohort.size, self._cohort.context(step)
        self._free -= self._cohort.blocks(step)
        if self._free < 0:
            raise NotPlainError
        budget = self._config.max_num_batched_tokens - decoding
        chunks: list[tuple[int, int]] = []
        first_tokens: list[int] = []
        limit = self._prompts.limit(self._open)
        budget = self._continue_prompts(step, budget, limit, chunks, first_tokens)
        self._admit(step, budget, limit, chunks, first_tokens)
        ends = self._cohort.ending(step)
        if not decoding and not chunks:
            self._in_flight.append(_Batch(self._last_done_s, first_tokens, ends, is_empty=True))
            self._log.add(step, 1, 0.0, 0.0, receivers=0)
            return False
        if chunks:
            seconds = self._mixed_seconds(decoding, context, chunks)
        else:
            seconds = self._line.at(decoding, context)
        self._log.add(step, 1, seconds, 0.0, decoding - self._cohort.overdue(step))
        self._last_done_s = max(self._now_s, self._last_done_s) + seconds
        self._executed += 1
        self._busy_s += seconds
        self._in_flight.append(_Batch(self._last_done_s, first_tokens, ends))
        return True

    def _continue_prompts(
        self,
        step: int,
        budget: int,
        limit: int,
        chunks: list[tuple[int, int]],
        first_tokens: list[int],
    ) -> int:
        """Compute on at the prompts that have begun; what is left of the budget."""
        for prompt, tokens in self._prompts.take(budget, limit):
            computed = prompt.computed + tokens
            blocks = -(-computed // self._config.block_size)
            self._free -= blocks - prompt.blocks
            if self._free < 0:
                raise NotPlainError
            if tokens:
                chunks.append((tokens, prompt.computed))
            self._after_chunk(step, prompt._replace(computed=computed, blocks=blocks), first_tokens)
            budget -= tokens
        return budget

    def _admit(
        self,
        step: int,
        budget: int,
        limit: int,
        chunks: list[tuple[int, int]],
        first_tokens: list[int],
    ) -> None:
        while self._waiting and budget > 0 and self._running < self._config.active_limit:
            request = self._waiting.peek()
            tokens = self._prompts.first_chunk(request, budget, limit)
            if not tokens or not self._fits(request, tokens):
                return
            self._waiting.pop()
            self._running += 1
            self._lives.admitted_s[request.place] = self._now_s
            blocks = -(-tokens // self._config.block_size)
            self._free -= blocks
            budget -= tokens
            chunks.append((tokens, 0))
            self._after_chunk(step, Prompt(request, tokens, blocks), first_tokens)

    def _fits(self, request: Arrived, tokens: int) -> bool:
        """Whether a waiting request may have its blocks: the check of `KVManager.admit`."""
        needed = request.prompt_tokens if self._reserves else tokens
        headroom = self._config.watermark_blocks if self._running else 0
        return -(-needed // self._config.block_size) + headroom <= self._free

    def _after_chunk(self, step: int, prompt: Prompt, first_tokens: list[int]) -> None:
        """A chunk is scheduled: the prompt goes on in the next step, or its first token comes."""
        if self._prompts.keep(prompt):
            return
        place, prompt_tokens, output_tokens, _ = prompt.request
        first_tokens.append(place)
        self._lives.first_step[place] = step
        self._cohort.join(step, place, prompt_tokens, output_tokens)

    def _complete(self) -> None:
        batch = self._in_flight.popleft()
        self._now_s = max(self._now_s, batch.done_s)
        for place in batch.first_tokens:
            self._lives.first_token_s[place] = self._now_s
        for place, blocks in batch.ends:
            self._lives.finished_s[place] = self._now_s
            self._free += blocks
            self._arrivals.finished(self._now_s)
        self._running -= len(batch.ends)
        self._open -= len(batch.ends)

    # Many steps at once

    def _stretch(self) -> bool:
        """Advance over steps that only decode, up to the next event; False when it is at hand."""
        step, decoding = self._step, self._cohort.size
        if not decoding or self._prompts or len(self._in_flight) != self._depth - 1:
            return False
        if self._in_flight and (self._in_flight[0].first_tokens or self._in_flight[0].ends):
            return False
        steps = self._cohort.quiet_steps(step)
        horizon_s = self._next_admission_s(decoding) if steps > 1 else 0.0
        if horizon_s <= self._now_s:
            return False
        steps = self._cohort.steps_with_blocks(step, self._free, steps)
        stretch = self._line.stretch(decoding, self._cohort.context(step), steps)
        # A step is decided when the one before begins, if outputs are in flight, else when it ends.
        begin_s = self._in_flight[0].done_s if self._in_flight else self._now_s
        steps = stretch.before(horizon_s - begin_s) + len(self._in_flight)
        steps = min(steps, stretch.steps)
        if steps < 2:
            return False
        self._free -= self._cohort.blocks(step, steps)
        self._log.add(step, steps, stretch.seconds, stretch.growth, decoding)
        self._step += steps
        self._executed += steps
        self._busy_s += stretch.total(steps)
        self._last_done_s = self._now_s = begin_s + stretch.total(steps)
        if self._in_flight:
            self._now_s = begin_s + stretch.total(steps - 1)
            self._in_flight = deque([_Batch(self._last_done_s, [], [])])
        return True

    def _next_admission_s(self, decoding: int) -> float:
        """The earliest time at which someone could be admitted while nobody finishes.

        Blocks only get fewer, so a request that does not fit now does not fit later either.
        """
        if self._running >= self._config.active_limit:
            return inf
        budget = self._config.max_num_batched_tokens - decoding
        if not self._waiting:
            return self._arrivals.next_s
        head = self._waiting.peek()
        tokens = self._prompts.first_chunk(head, budget)
        if tokens and self._fits(head, tokens):
            return self._now_s
        return self._arrivals.next_s if self._config.policy == "priority" else inf
