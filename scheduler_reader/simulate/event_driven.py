"""Run the scheduler from event to event.

The decisions are those of `stepwise`, for the plain case: no drafts, no pipeline stages.  There the
decoding requests are one `Cohort`, and between two events (an arrival that can be admitted, a
finish, the end of a prompt, a preemption) any number of steps is one sum.  Where a decision needs
more than that (a preemption by priority, for one), `NotPlainError` says so and the run is made step
by step.
"""

from __future__ import annotations

from collections import deque
from math import inf

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig, as_run, check, overlap_of
from scheduler_reader.simulate.decode_line import DecodeLine
from scheduler_reader.simulate.failure import LongRunError, NotPlainError
from scheduler_reader.simulate.joint_step import InFlight, Work
from scheduler_reader.simulate.prompts import Arrived, Prompt
from scheduler_reader.simulate.residents import Residents
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.step_log import Lives, StepLog
from scheduler_reader.simulate.waiting import TICKS_PER_S, WaitingQueue, queue_of

_PREEMPTION_WORK = 8  # requests in a step made by itself that cost as much (`stepwise`)
_FRUITLESS = 100  # preemptions between two tokens: there may never be one


def is_plain(config: EngineConfig) -> bool:
    """Whether an engine can be run from event to event, as far as its settings tell."""
    return (
        config.pipeline_parallel_size == 1
        and config.num_speculative_tokens == 0
        and config.prefill_schedule_interval == 1
        and config.sliding_window is None
    )


def run_event_driven(
    config: EngineConfig,
    release: Release,
    step_model: StepModel,
    arrivals: Source,
    *,
    preempts: bool = True,
    most_work: float = inf,
) -> SimulationResult:
    """Serve all requests of a source; those that can never be scheduled end as `unfinished`.

    Raises `NotPlainError` when the run needs the exact scheduler (and, with `preempts` False, at the
    first preemption), `UsageError` when the release refuses the settings, and `LongRunError` once
    it has done more than `most_work`, `_PREEMPTION_WORK` a preemption (`stepwise.run_stepwise`).
    """
    run = _Run(config, release, step_model, arrivals, preempts=preempts)
    while run.advance():
        if run.preemptions * _PREEMPTION_WORK > most_work:
            raise LongRunError
    return run.result()


class _Run:
    def __init__(
        self,
        config: EngineConfig,
        release: Release,
        step_model: StepModel,
        arrivals: Source,
        *,
        preempts: bool,
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
        self._log = StepLog()
        self._lives = Lives(self._log)
        self._now_s = self._last_done_s = self._busy_s = 0.0
        self._step = self._executed = self._open = self._fruitless = 0
        self._waiting: WaitingQueue[Arrived] = queue_of(config.policy)
        self._in_flight: deque[InFlight] = deque()
        self._residents = Residents(
            config, behaviour, self._lives, is_async=self._depth > 1, preempts=preempts
        )
        self._cohort, self._prompts = self._residents.cohort, self._residents.prompts

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

    @property
    def preemptions(self) -> int:
        """So far."""
        return self._lives.preemptions

    def result(self) -> SimulationResult:
        finished_s = self._lives.finished_s
        stuck = [n for n, end_s in zip(self._lives.number, finished_s, strict=True) if end_s < 0]
        if stuck and self._lives.preemptions:
            raise NotPlainError
        return SimulationResult(
            records=self._lives,
            duration_s=max(finished_s, default=0.0) if len(finished_s) > len(stuck) else 0.0,
            steps=self._executed,
            busy_s=self._busy_s,
            preemptions=self._lives.preemptions,
            num_blocks=self._config.num_gpu_blocks,
            block_size=self._config.block_size,
            unfinished=tuple(sorted(stuck)),
            token_gaps=None if stuck else self._log.gaps(self._lives.pauses),
        )

    def _receive(self) -> None:
        while self._arrivals.next_s <= self._now_s:
            number, time_s, prompt, output, group, shared, priority = self._arrivals.take()
            assert time_s is not None
            room = self._config.max_model_len - prompt
            if room < 1:
                raise NotPlainError
            output = min(output, room)
            place = self._lives.arrive(number, time_s, prompt, output)
            self._residents.blocks.arrive(place, group, shared)
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
        step, before = self._step, self._lives.preemptions
        self._step += 1
        self._cohort.enter(step)
        awaited = self._in_flight[-1] if self._in_flight else None
        awaited_s = None if awaited is None or awaited.is_empty else awaited.done_s
        limit = self._prompts.limit(self._open)
        running = self._residents.schedule(step, limit, self._now_s, awaited_s)
        decoding = self._cohort.size
        work = Work(decoding, self._cohort.context(step))
        budget = self._config.max_num_batched_tokens - decoding
        for prompt, tokens in running.chunks:
            self._add(step, prompt, tokens, work)
            budget -= tokens
        for victim in running.victims:
            self._waiting.put_back(victim)
        if self._lives.preemptions == before:
            self._admit(step, budget, limit, work)
        elif work.is_empty or self._fruitless > _FRUITLESS:
            raise NotPlainError
        is_fruitful = work.first_tokens or decoding
        self._fruitless = 0 if is_fruitful else self._fruitless + self._lives.preemptions - before
        ends = self._cohort.ending(step)
        if work.is_empty:
            self._in_flight.append(InFlight(self._last_done_s, [], ends, is_empty=True))
            self._log.add(step, 1, 0.0, 0.0, receivers=0)
            return False
        if work.chunks:
            seconds = self._mixed_seconds(work.decoding, work.context, work.chunks)
        else:
            seconds = self._line.at(work.decoding, work.context)
        self._log.add(step, 1, seconds, 0.0, decoding - self._cohort.overdue(step))
        self._last_done_s = max(self._now_s, self._last_done_s) + seconds
        self._executed += 1
        self._busy_s += seconds
        self._in_flight.append(InFlight(self._last_done_s, work.first_tokens, ends))
        return True

    def _admit(self, step: int, budget: int, limit: int, work: Work) -> None:
        while self._waiting and budget > 0 and len(self._residents) < self._config.active_limit:
            request = self._waiting.peek()
            chunk = self._residents.first_chunk(request, budget, limit)
            if not chunk.tokens:
                return
            self._waiting.pop()
            self._lives.admit(request.place, self._now_s, chunk.start)
            budget -= chunk.tokens
            self._add(step, self._residents.admit(request, chunk), chunk.tokens, work)

    def _add(self, step: int, prompt: Prompt, tokens: int, work: Work) -> None:
        """A chunk is scheduled: the prompt goes on in the next step, or its first token comes."""
        place, prompt_tokens, output_tokens, _ = prompt.request
        work.add(tokens, prompt.computed - tokens, self._lives.prompt_tokens[place])
        if self._prompts.keep(prompt):
            return
        work.first_tokens.append(place)
        self._lives.first_step[place] = step
        self._cohort.join(step, place, prompt_tokens, output_tokens)

    def _complete(self) -> None:
        batch = self._in_flight.popleft()
        self._now_s = max(self._now_s, batch.done_s)
        for place in batch.first_tokens:
            self._lives.receive(place, self._now_s)
        for ending in batch.ends:
            self._lives.finished_s[ending.place] = self._now_s
            self._residents.leave(ending)
            self._arrivals.finished(self._now_s)
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
        steps = self._cohort.steps_with_blocks(step, self._residents.blocks.free, steps)
        stretch = self._line.stretch(decoding, self._cohort.context(step), steps)
        # A step is decided when the one before begins, if outputs are in flight, else when it ends.
        begin_s = self._in_flight[0].done_s if self._in_flight else self._now_s
        steps = stretch.before(horizon_s - begin_s) + len(self._in_flight)
        steps = min(steps, stretch.steps)
        if steps < 2:
            return False
        self._residents.blocks.take(self._cohort.blocks(step, steps))
        self._log.add(step, steps, stretch.seconds, stretch.growth, decoding)
        self._step += steps
        self._executed += steps
        self._busy_s += stretch.total(steps)
        self._last_done_s = self._now_s = begin_s + stretch.total(steps)
        if self._in_flight:
            self._now_s = begin_s + stretch.total(steps - 1)
            self._in_flight = deque([InFlight(self._last_done_s, [], [])])
        return True

    def _next_admission_s(self, decoding: int) -> float:
        """The earliest time at which someone could be admitted while nobody finishes.

        Blocks only get fewer, so a request that does not fit now does not fit later either.
        """
        if len(self._residents) >= self._config.active_limit:
            return inf
        budget = self._config.max_num_batched_tokens - decoding
        if not self._waiting:
            return self._arrivals.next_s
        head = self._waiting.peek()
        chunk = self._residents.first_chunk(head, budget)
        if chunk.tokens or not self._residents.stays_out(head, chunk.found, budget):
            return self._now_s
        return self._arrivals.next_s if self._config.policy == "priority" else inf
