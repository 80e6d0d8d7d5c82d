"""Static batching: a window of requests runs padded and alone until the slowest has ended.

All prompts of a window are padded to its longest and computed in one step; then every step decodes
one token for every seat, also for those that have ended.  Memory is reserved at once for the
longest prompt and the longest output.  With windows of one request this is the plain loop that
serves one request at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import fsum, inf

from scheduler_reader.performance.step import StepModel
from scheduler_reader.record import Record
from scheduler_reader.simulate.arrivals import Arrival, Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.result import (
    Gaps,
    Phase,
    RequestRecord,
    Sample,
    SimulationResult,
)

STRETCH = 16  # decode steps that are timed as one: attention grows by some ten tokens meanwhile


class WindowedRun(Record):
    """A run in windows.  Seconds of prefill and decode; tokens are positions that steps computed."""

    result: SimulationResult
    prefill_s: float
    decode_s: float
    computed_tokens: int
    useful_tokens: int
    reserved_slots: int
    filled_slots: int
    output_tokens: int


@dataclass(slots=True)
class _Totals:
    records: list[RequestRecord] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    steps: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    computed_tokens: int = 0
    useful_tokens: int = 0
    reserved_slots: int = 0
    filled_slots: int = 0
    output_tokens: int = 0


def run_windows(
    config: EngineConfig,
    step_model: StepModel,
    arrivals: Source,
    *,
    most: int,
    reserves: int | None = None,
    record: bool = True,
) -> WindowedRun:
    """Serve a source in windows of at most `most` requests, as far as memory holds them.

    `reserves`: KV slots that each request takes; None: what the longest of its window needs.
    `record`: keep phases and samples.
    """
    totals = _Totals()
    waiting: deque[Arrival] = deque()
    slots = (config.num_gpu_blocks - 1) * config.block_size
    now_s = 0.0
    while True:
        while arrivals.next_s <= now_s:
            waiting.append(arrivals.take())
        if not waiting:
            if arrivals.next_s == inf:
                break
            now_s = arrivals.next_s
            continue
        window = _next_window(waiting, most, slots, reserves)
        if not window:
            totals.unfinished.append(waiting.popleft().number)
            continue
        held = _Window(tuple(window), reserves)
        start_s, now_s = now_s, held.run(step_model, now_s, totals)
        ended = totals.records[-len(window) :]
        for end_s in sorted(each.finished_s or 0.0 for each in ended):
            arrivals.finished(end_s)
        if record:
            totals.phases += chain.from_iterable(map(_phases, ended))
            totals.samples.append(_sample(config, start_s, held, len(waiting)))
    return _result(totals, config, now_s)


def _next_window(
    waiting: deque[Arrival], most: int, slots: int, reserves: int | None
) -> list[Arrival]:
    window: list[Arrival] = []
    prompt = output = 0
    while waiting and len(window) < most:
        prompt = max(prompt, waiting[0].prompt_tokens)
        output = max(output, waiting[0].output_tokens)
        if (len(window) + 1) * (reserves or prompt + output) > slots:
            break
        window.append(waiting.popleft())
    return window


class _Window(Record):
    requests: Sequence[Arrival]
    reserves: int | None

    @property
    def prompt(self) -> int:
        return max(arrival.prompt_tokens for arrival in self.requests)

    @property
    def output(self) -> int:
        return max(arrival.output_tokens for arrival in self.requests)

    @property
    def slots(self) -> int:
        return len(self.requests) * (self.reserves or self.prompt + self.output)

    def run(self, step_model: StepModel, start_s: float, totals: _Totals) -> float:
        """Run it from `start_s`; returns when its slowest request has ended."""
        seats, prompt, output = len(self.requests), self.prompt, self.output
        prefill_s = fsum(step_model.step_parts(0, 0, [(prompt, 0)], copies=seats))
        first_s = start_s + prefill_s
        gaps = list(self._gaps(step_model))
        for arrival in self.requests:
            own = tuple(_first(gaps, arrival.output_tokens - 1))
            totals.records.append(_record(arrival, start_s, first_s, own))
        decode_s = fsum(gap.seconds * gap.count for gap in gaps)
        useful = sum(each.prompt_tokens + each.output_tokens - 1 for each in self.requests)
        totals.steps += output
        totals.prefill_s += prefill_s
        totals.decode_s += decode_s
        totals.computed_tokens += seats * (prompt + output - 1)
        totals.useful_tokens += useful
        totals.reserved_slots += self.slots
        totals.filled_slots += useful + seats
        totals.output_tokens += sum(each.output_tokens for each in self.requests)
        return first_s + decode_s

    def _gaps(self, step_model: StepModel) -> Iterator[Gaps]:
        """Decode steps of all seats, each stretch timed at its middle."""
        seats, left, context = len(self.requests), self.output - 1, self.prompt
        while left > 0:
            count = min(STRETCH, left)
            middle = seats * (context + (count + 1) / 2)
            yield Gaps(step_model.step_seconds(seats, middle), count)
            context += count
            left -= count


def _first(gaps: Sequence[Gaps], count: int) -> Iterator[Gaps]:
    """The first `count` gaps."""
    for gap in gaps:
        if count <= 0:
            return
        yield Gaps(gap.seconds, min(gap.count, count))
        count -= gap.count


def _record(
    arrival: Arrival, start_s: float, first_s: float, gaps: tuple[Gaps, ...]
) -> RequestRecord:
    assert arrival.time_s is not None
    return RequestRecord(
        number=arrival.number,
        prompt_tokens=arrival.prompt_tokens,
        output_tokens=arrival.output_tokens,
        arrival_s=arrival.time_s,
        admitted_s=start_s,
        first_token_s=first_s,
        finished_s=first_s + fsum(gap.seconds * gap.count for gap in gaps),
        gaps=gaps,
    )


def _phases(record: RequestRecord) -> Iterator[Phase]:
    number, arrival_s, first_s = record.number, record.arrival_s, record.first_token_s
    admitted_s, end_s = record.admitted_s, record.finished_s
    assert admitted_s is not None and first_s is not None and end_s is not None
    if admitted_s > arrival_s:
        yield Phase(number, "waiting", arrival_s, admitted_s, 0)
    yield Phase(number, "prefill", admitted_s, first_s, record.prompt_tokens)
    if end_s > first_s:
        yield Phase(number, "decode", first_s, end_s, record.output_tokens - 1)


def _sample(config: EngineConfig, time_s: float, window: _Window, waiting: int) -> Sample:
    return Sample(time_s, len(window.requests), waiting, -(-window.slots // config.block_size))


def _result(totals: _Totals, config: EngineConfig, end_s: float) -> WindowedRun:
    result = SimulationResult(
        records=tuple(sorted(totals.records)),
        duration_s=end_s,
        steps=totals.steps,
        busy_s=totals.prefill_s + totals.decode_s,
        preemptions=0,
        num_blocks=config.num_gpu_blocks,
        block_size=config.block_size,
        unfinished=tuple(totals.unfinished),
        phases=tuple(totals.phases),
        samples=tuple(totals.samples),
    )
    return WindowedRun(
        result,
        totals.prefill_s,
        totals.decode_s,
        totals.computed_tokens,
        totals.useful_tokens,
        totals.reserved_slots,
        totals.filled_slots,
        totals.output_tokens,
    )
