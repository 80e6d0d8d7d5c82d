"""The highest rate that an engine sustains, found by runs at rates that are halved between.

A rate is sustained when over the second half of the time in which requests arrive as many end as
come, up to 1 %: then neither the queue nor the number of running requests grows.  Requests come at
equal distances (what comes unevenly is on average sustained just as well), and a run in which
blocks run out beside running requests is not sustained: from there on requests preempt each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, repeat
from math import sqrt

from scheduler_reader.errors import UsageError
from scheduler_reader.simulate.arrivals import Arrival, OpenLoop, Source
from scheduler_reader.simulate.event_driven import is_plain, run_event_driven
from scheduler_reader.simulate.failure import NotPlainError
from scheduler_reader.simulate.service import runnable
from scheduler_reader.simulate.setup import Setup

SERVED = 0.99  # of what comes: less, and the queue grows
PRECISION = 0.02  # of the rate: how far the bounds are apart in the end
FEWEST, MOST = 400, 1_600  # requests of a run: some lives of all that run at once
LIVES = 4
LEAST, MOST_STEPS = 60, 2_000  # the same where prompts take many steps
FIRST_BOUNDS = (0.9, 1.1)  # of the expected rate
STEP = 0.75  # by which a bound moves that is on the wrong side
MOST_RUNS = 8


def sustained_rate(setup: Setup, expected: float) -> float | None:
    """Requests a second of one replica, searched around `expected`.

    None where the engine is not run from event to event (`event_driven.is_plain`), prefixes are
    shared, the release refuses the settings, or no rate near the expected one is sustained.
    """
    workload = setup.workload
    if not is_plain(setup.config) or workload.shared_prefix_tokens or workload.expected_hit_rate:
        return None
    runs = _Runs(setup)
    low, high = (expected * bound for bound in FIRST_BOUNDS)
    try:
        is_low, is_high = runs.sustain(low), runs.sustain(high)
    except UsageError:
        return None
    while not is_low and runs.are_left:
        low, high, is_high = low * STEP, low, False
        is_low = runs.sustain(low)
    while is_high and runs.are_left:
        low, high = high, high / STEP
        is_high = runs.sustain(high)
    if not is_low or is_high:
        return None
    while high > low * (1 + PRECISION) and runs.are_left:
        middle = sqrt(low * high)
        low, high = (middle, high) if runs.sustain(middle) else (low, middle)
    return sqrt(low * high)


class _Runs:
    """Runs of a setup at other rates, as many as are allowed."""

    def __init__(self, setup: Setup) -> None:
        wanted = min(max(FEWEST, LIVES * _residents(setup)), MOST)
        count = min(wanted, max(LEAST, int(MOST_STEPS / _steps_of_prompt(setup))))
        changes = {"rate": 1.0, "num_requests": count, "arrival": "constant"}
        self._run = runnable(setup._replace(workload=setup.workload.replaced(changes)))
        self._requests = list(_all_of(self._run.requests()))
        self._left = MOST_RUNS

    @property
    def are_left(self) -> bool:
        return self._left > 0

    def sustain(self, rate: float) -> bool:
        self._left -= 1
        config, release, model, _ = self._run
        source = _Watched(self._requests, rate)
        try:
            result = run_event_driven(config, release, model, source, preempts=False)
        except (NotPlainError, _GrowingError):
            return False
        return not result.unfinished and source.is_level


def _all_of(source: Source) -> Iterator[Arrival]:
    while not source.is_exhausted:
        yield source.take()


class _GrowingError(Exception):
    """Fewer requests ended than came: how the run goes on does not matter."""


class _Watched(OpenLoop):
    """Requests at equal distances, of which as many have to end as come, in the second half of the
    time in which they come.
    """

    def __init__(self, requests: Sequence[Arrival], rate: float) -> None:
        last = max((request.number for request in requests), default=0)
        times_s = tuple(accumulate(repeat(1 / rate, last), initial=0.0))
        super().__init__(request._replace(time_s=times_s[request.number]) for request in requests)
        self._end_s = times_s[-1]
        came = sum(times_s[request.number] > self._end_s / 2 for request in requests)
        self._least, self._ended = SERVED * came, 0

    @property
    def is_level(self) -> bool:
        """Whether it was so, once all have ended."""
        return self._ended >= self._least

    def finished(self, time_s: float) -> None:
        """Raises `_GrowingError` at the first end after that time, where it was not so."""
        if time_s > self._end_s:
            if not self.is_level:
                raise _GrowingError
        elif time_s > self._end_s / 2:
            self._ended += 1


def _residents(setup: Setup) -> int:
    """About how many requests run at once when the engine is full."""
    workload, config = setup.workload, setup.config
    held = workload.input_tokens.mean + workload.output_tokens.mean / 2
    fitting = config.num_gpu_blocks * config.block_size / held
    return int(min(config.active_limit, fitting))


def _steps_of_prompt(setup: Setup) -> float:
    prompt = setup.workload.input_tokens.mean
    return max(1.0, prompt / setup.config.max_num_batched_tokens)
