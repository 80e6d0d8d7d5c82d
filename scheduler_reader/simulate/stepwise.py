"""Run the scheduler with a clock, one step after another.

Every step is decided by the exact scheduler and takes what the step model says; cost grows with
steps times requests in them.  Steps in which all that run decode and nothing else happens are made
at once (`quiet.py`, `rotation.py`), unless every step is to be recorded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise
from math import inf

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.batch import Batch, Share
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.decode_line import DecodeLine
from scheduler_reader.simulate.engine import Engine
from scheduler_reader.simulate.failure import LongRunError
from scheduler_reader.simulate.lives import Life
from scheduler_reader.simulate.percentiles import Progression, Progressions
from scheduler_reader.simulate.request import Request
from scheduler_reader.simulate.result import Phase, Sample, SimulationResult
from scheduler_reader.simulate.rotation import Clock, timed
from scheduler_reader.simulate.standstill import Standstill
from scheduler_reader.simulate.waiting import TICKS_PER_S

_STEP_WORK = 8  # requests whose share of a step costs as much as the step itself


def run_stepwise(
    config: EngineConfig,
    release: Release,
    step_model: StepModel,
    arrivals: Source,
    *,
    record_phases: bool = False,
    record_samples: bool = False,
    most_work: float = inf,
) -> SimulationResult:
    """Serve all requests of a source.  Those that can never be scheduled end as `unfinished`, also
    where requests take each other's blocks for ever.

    Speculative drafts are taken to be accepted whole.  Raises `UsageError` when the release
    refuses the settings, and `LongRunError` once it has done more than `most_work`: one for each
    request of a step that was made alone, and `_STEP_WORK` for the step.
    """
    run = _Run(
        config,
        release,
        step_model,
        arrivals,
        record_phases=record_phases,
        record_samples=record_samples,
    )
    while run.advance():
        if run.work > most_work:
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
        record_phases: bool,
        record_samples: bool,
    ) -> None:
        self._config = config
        self._engine = Engine(config, release, lambda _, drafts: drafts)
        self._step_model = step_model
        self._line = DecodeLine(step_model)
        self._arrivals = arrivals
        self._phases: list[Phase] | None = [] if record_phases else None
        self._samples: list[Sample] | None = [] if record_samples else None
        self._records = record_phases or record_samples  # each step by itself
        self._lives: dict[Request, Life] = {}  # in order of arrival
        self._open: set[Request] = set()
        self._done_s: deque[float] = deque()  # of the batches in flight
        self._last_done_s = 0.0
        self._now_s = 0.0
        self._gap_counts: Counter[float] = Counter()
        self._rising: list[Progression] = []
        self._steps = 0
        self._busy_s = 0.0
        self._standstill = Standstill(config)
        self.work = 0

    def advance(self) -> bool:
        """One turn of the engine's loop; False when there is nothing more to do."""
        self._receive()
        if not self._open and not self._engine.in_flight:
            return self._sleep()
        if self._open:
            if not self._records and (self._stretch() or self._rotate()):
                return True
            was_alone = not any(each.shares for each in self._engine.in_flight)
            batch = self._launch()
            is_idle = was_alone and not batch.shares and not batch.preempted
            self._standstill.note_step(is_idle=is_idle)
            if batch.shares and not self._engine.is_full:
                return True
            if self._standstill.is_fruitless(self._open):
                return False
            if self._standstill.waits_for_arrival(batch, self._engine.scheduler.running):
                self._complete()
                return self._sleep()
        self._complete()
        return True

    def result(self) -> SimulationResult:
        lives = sorted(self._lives.values(), key=lambda life: life.arrival.number)
        return SimulationResult(
            records=tuple(life.record() for life in lives),
            duration_s=max((life.last_token_s for life in lives), default=0.0),
            steps=self._steps,
            busy_s=self._busy_s,
            preemptions=sum(life.preemptions for life in lives),
            num_blocks=self._config.num_gpu_blocks,
            block_size=self._config.block_size,
            unfinished=tuple(sorted(request.number for request in self._open)),
            phases=tuple(self._phases or ()),
            samples=tuple(self._samples or ()),
            token_gaps=None if self._open else self._token_gaps(),
        )

    def _token_gaps(self) -> Progressions:
        """All gaps between output tokens, of all requests together."""
        single = (Progression(gap, 0.0, 1, count) for gap, count in self._gap_counts.items())
        return Progressions((*self._rising, *single))

    def _receive(self) -> None:
        while self._arrivals.next_s <= self._now_s:
            arrival = self._arrivals.take()
            assert arrival.time_s is not None
            request = Request(
                number=arrival.number,
                arrival=round(arrival.time_s * TICKS_PER_S),
                prompt_tokens=arrival.prompt_tokens,
                max_tokens=arrival.output_tokens,
                priority=arrival.priority,
                prefix_group=arrival.prefix_group,
                prefix_tokens=arrival.prefix_tokens,
            )
            life = self._lives[request] = Life(arrival, self._phases)
            life.arrives(arrival.time_s)
            self._open.add(request)
            self._engine.add(request)

    def _sleep(self) -> bool:
        """Until the next arrival; False when there is none."""
        if self._arrivals.next_s == inf:
            return False
        self._now_s = max(self._now_s, self._arrivals.next_s)
        return True

    def _launch(self) -> Batch:
        stages = self._config.pipeline_parallel_size
        flying = tuple(zip(self._engine.in_flight, self._done_s, strict=True)) if stages > 1 else ()
        batch = self._engine.launch()
        seconds = self._seconds(batch)
        begin_s = max(self._now_s, self._last_done_s - seconds * (stages - 1) / stages)
        if stages > 1:  # the first stage needs the token that the last one samples
            begin_s = max(begin_s, _inputs_s(batch, flying))
        for request in (*batch.new, *batch.resumed):
            self._lives[request].is_admitted(self._now_s, batch.shares[request].start)
        for request, share in batch.shares.items() if self._phases is not None else ():
            self._lives[request].runs(begin_s, share.tokens, _is_decode(request, share))
        for request in batch.preempted:
            self._lives[request].is_preempted(begin_s)
        self._last_done_s = max(begin_s + seconds, self._last_done_s)
        self._done_s.append(self._last_done_s)
        self._steps += bool(batch.shares)
        self._busy_s += seconds / stages
        self._sample()
        return batch

    def _stretch(self) -> bool:
        """Decode up to the next decision; False when it is at hand."""
        engine, waits = self._engine, len(self._engine.in_flight)
        quiet = engine.quiet_steps()
        if quiet.steps < 2:
            return False
        # A step is decided when the one before begins, if outputs are in flight, else when it ends.
        begin_s = self._done_s[0] if waits else self._now_s
        running = engine.scheduler.running
        context = sum(request.computed for request in running) + len(running)
        stretch = self._line.stretch(len(running), context, quiet.steps)
        steps = stretch.steps
        if quiet.ends_at_arrival and self._arrivals.next_s < inf:
            steps = min(steps, stretch.before(self._arrivals.next_s - begin_s) + waits)
        if steps < 2:
            return False
        if waits:
            self._complete()
        engine.decode(steps)
        first_s = begin_s + stretch.seconds
        rising = Progression(stretch.seconds + stretch.growth, stretch.growth, steps - 2, 1)
        for request in running:
            self._gap_counts[self._lives[request].receives_steadily(first_s, rising)] += 1
        self._rising.append(rising._replace(weight=len(running)))
        self._now_s = begin_s + stretch.total(steps - 1)
        self._last_done_s = begin_s + stretch.total(steps)
        self._done_s.append(self._last_done_s)
        self._steps += steps
        self._busy_s += stretch.total(steps)
        self._standstill.note_step(is_idle=False)
        if engine.is_full:
            self._complete()
        return True

    def _rotate(self) -> bool:
        """The same where groups of requests take turns in the stages of a pipeline."""
        engine, fewest = self._engine, self._engine.overlap.batches_in_flight
        found = engine.rotation()
        if found is None or found.rounds < fewest:
            return False
        clock = Clock(self._now_s, self._last_done_s, tuple(self._done_s))
        until_s = self._arrivals.next_s if found.ends_at_arrival else inf
        stages = self._config.pipeline_parallel_size
        rounds, received_s, busy_s, after = timed(found, clock, stages, self._line.at, until_s)
        if rounds < fewest:
            return False
        while engine.in_flight:
            self._complete()
        engine.rotate(found._replace(rounds=rounds))
        for group, times_s in zip(found.groups, received_s, strict=True):
            gaps = tuple(later - earlier for earlier, later in pairwise(times_s))
            for request in group:
                self._gap_counts[self._lives[request].receives_at(times_s, gaps)] += 1
            for gap in gaps:
                self._gap_counts[gap] += len(group)
        self._now_s, self._last_done_s, done_s = after
        self._done_s.extend(done_s)
        self._steps += rounds * len(found.groups)
        self._busy_s += busy_s
        self._standstill.note_step(is_idle=False)
        return True

    def _seconds(self, batch: Batch) -> float:
        """Of one pass through all pipeline stages; the step model halves a batch by stage."""
        stages = self._config.pipeline_parallel_size
        sequences = context = 0
        chunks = []
        for request, share in batch.shares.items():
            start, tokens = share.start, share.tokens
            if tokens == 1 + share.drafts and start >= request.prompt_tokens:
                sequences += 1
                context += start + tokens
            else:
                chunks.append((tokens * stages, start))
        return self._step_model.step_seconds(sequences * stages, context * stages, chunks)

    def _complete(self) -> None:
        self._now_s = max(self._now_s, self._done_s.popleft())
        before = {request: request.outputs for request in self._engine.in_flight[0].shares}
        _, finished = self._engine.complete()
        self.work += len(before) + _STEP_WORK
        has_output = False
        for request, outputs in before.items():
            tokens = request.outputs - outputs
            if tokens:
                has_output = True
                gap = self._lives[request].receives(self._now_s, tokens)
                if gap is not None:
                    self._gap_counts[gap] += 1
                if tokens > 1:
                    self._gap_counts[0.0] += tokens - 1
        self._standstill.note_end(has_output=has_output)
        for request in finished:
            self._lives[request].ends(self._now_s)
            self._open.discard(request)
            self._arrivals.finished(self._now_s)

    def _sample(self) -> None:
        if self._samples is None:
            return
        scheduler = self._engine.scheduler
        used = self._config.num_gpu_blocks - 1 - scheduler.kv.free
        state = (len(scheduler.running), len(scheduler.waiting), used)
        if not self._samples or self._samples[-1][1:] != state:
            self._samples.append(Sample(self._now_s, *state))


def _inputs_s(batch: Batch, flying: Sequence[tuple[Batch, float]]) -> float:
    """When the tokens exist that the batch's decoding requests put in: with asynchronous scheduling
    one is decided again while its pass is under way.
    """
    for earlier, done_s in reversed(flying):
        both = (request for request in batch.shares if request in earlier.shares)
        if any(_is_decode(request, batch.shares[request]) for request in both):
            return done_s
    return 0.0


def _is_decode(request: Request, share: Share) -> bool:
    """Whether the request only takes its next token (with its drafts) in this step."""
    return share.tokens == 1 + share.drafts and share.start >= request.prompt_tokens
