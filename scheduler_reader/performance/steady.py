"""The steady state of one engine replica: how fast requests flow when so many are resident.

Requests sit in the running queue while they are prefilled and then while they decode.  A rate of
requests fixes the time between tokens and of a prefill (`rhythm`), and both must add up to the
number of residents (Little's law); `flow` finds the rate where they do.  Requests are taken to be out of
step; where they are not, see `in_step`.
"""

from __future__ import annotations

from functools import lru_cache
from math import fsum, inf, log

from scheduler_reader.performance.rhythm import Demand, Rhythm, Steps
from scheduler_reader.performance.settings import SchedulerLimits
from scheduler_reader.performance.step import StepModel, StepParts
from scheduler_reader.performance.tails import poisson_quantile
from scheduler_reader.record import Record

ITERATIONS = 30
LOOKS = 19  # at an open loop's residents, after the first
TOLERANCE = 1e-3  # of the residents; far below what the fits are good for


class OperatingPoint(Record):
    """One steady state.  Times in seconds.

    `prefill_s` runs from admission to the first token of a prompt that meets no other;
    `prefill_wait_s` is the mean of what others add.  `mixed_share` is the share of a decoding request's steps that carry the prefill of
    others; such a step takes `mixed_step_s`, one without takes `decode_step_s`.
    """

    requests_per_s: float
    decode_seqs: float
    decode_step_s: float
    mixed_step_s: float
    slowest_step_s: float  # 99th percentile of the steps a decoding request is in
    mixed_share: float
    itl_s: float
    prefill_s: float
    prefill_wait_s: float
    residence_s: float  # from admission to the last token
    parts: StepParts


class Replica(Record):
    """One data-parallel replica under a request shape; `follows`: see `Steps`."""

    step: StepModel
    limits: SchedulerLimits
    demand: Demand
    follows: bool = False

    @property
    def steps(self) -> Steps:
        """Its steps; build them once for many questions."""
        return Steps(self.step, self.limits, self.demand, follows=self.follows)

    def flow(self, residents: float) -> OperatingPoint:
        """The steady state with `residents` requests always in the running queue (closed loop)."""
        return self._point(self.steps, self._flowing(residents))

    def residence_seconds(self, residents: float) -> float:
        """The time of a request from its admission to its last token in that state."""
        return self.steps.residence_seconds(self._flowing(residents))

    @lru_cache(maxsize=256)  # noqa: B019 - few: a budget is tried as a limit, then as a change
    def _flowing(self, residents: float) -> Rhythm:
        """The residents a rate needs grow with the rate, without bound towards the capacity: the
        rate is found by secants between a rate that needs too few and one that needs too many
        (Illinois), by bisection while the latter is beyond the capacity.
        """
        steps, seen = self.steps, max(residents - 1, 0.0) / residents
        low, high = 0.0, residents / self._shortest_residence(steps)
        low_miss, high_miss = -residents, inf
        rate = min(residents / self._crowded_residence(steps, residents), 0.9 * high)
        best: Rhythm | None = None
        for _ in range(ITERATIONS):
            rhythm = _settled(steps, rate, residents, seen, best)
            miss = inf if rhythm is None else rate * steps.residence_seconds(rhythm) - residents
            if miss > TOLERANCE * residents:
                high, high_miss = rate, min(miss, residents)
                low_miss /= 2
            else:
                low, low_miss, best = rate, miss, rhythm
                if miss > -TOLERANCE * residents:
                    break
                high_miss /= 2
            rate = (low + high) / 2
            if high_miss < inf:
                rate = low - low_miss * (high - low) / (high_miss - low_miss)
        assert best is not None, "a rate near zero is always sustained"
        return best

    def serving(self, rate: float, seats: float) -> OperatingPoint | None:
        """The state at an offered rate: residents by Little's law, at most `seats`, met by arrivals as
        they are (open loop); None where steps cannot keep up.
        """
        steps, residents = self.steps, min(1.0, seats)
        rhythm = _settled(steps, rate, residents, 1.0)
        for _ in range(LOOKS):
            if rhythm is None:
                return None
            before = residents
            residents = min(seats, max(rate * steps.residence_seconds(rhythm), 1e-3))
            if residents == before:
                break
            rhythm = _settled(steps, rate, residents, 1.0)
        return None if rhythm is None else self._point(steps, rhythm)

    def _point(self, steps: Steps, rhythm: Rhythm) -> OperatingPoint:
        rate, beside, itl_s = rhythm.rate, rhythm.beside, rhythm.itl_s
        mixed_time = min(1.0, rate * self.demand.computed_tokens / rhythm.chunk * rhythm.mixed_s)
        mixed_share, wait_s = steps.mixed_share(rhythm), steps.wait_seconds(rhythm)
        residence_s = steps.residence_seconds(rhythm)
        slowest_s = rhythm.decode_s if mixed_share < 0.01 else self._slowest(steps, rhythm)
        # One prompt in a hundred shares its step with as many others as the slowest step holds.
        crowded_s = max(0.0, slowest_s - rhythm.mixed_s) / log(100)
        # A request comes while a step runs, more likely a long one.
        others = 0.5 * min(beside, 1.0)
        decoding_s = others * (1 - mixed_time) * rhythm.decode_s
        prefilling_s = others * mixed_time * rhythm.mixed_s
        return OperatingPoint(
            requests_per_s=rate,
            decode_seqs=rhythm.seqs,
            decode_step_s=rhythm.decode_s,
            mixed_step_s=rhythm.mixed_s,
            slowest_step_s=slowest_s,
            mixed_share=mixed_share,
            itl_s=itl_s,
            prefill_s=residence_s - steps.gaps * itl_s - wait_s,
            prefill_wait_s=max(wait_s, crowded_s, prefilling_s) + decoding_s,
            residence_s=residence_s,
            parts=parts_of(steps, (beside, rhythm.chunk), rhythm.seqs, mixed_time),
        )

    def _shortest_residence(self, steps: Steps) -> float:
        """A lower bound of a request's time: its share of a full step, and decode on its own."""
        prompt, room = self.demand.computed_tokens, steps.room(0)
        full_s = steps.mixed_seconds(0, room)
        chunk = min(prompt, room)
        chunk_s = full_s if chunk == room else steps.mixed_seconds(0, chunk)
        alone_s = steps.prompt_seconds(0, chunk, chunk_s)
        decode_s = steps.gaps * steps.decode_seconds(1.0)
        return 0.9 * (min(prompt / room * full_s, alone_s) + decode_s)

    def _crowded_residence(self, steps: Steps, residents: float) -> float:
        """A guess of a request's time: decode beside everybody, prompts taking turns."""
        room = steps.room(residents)
        turns_s = residents * self.demand.computed_tokens / room * steps.mixed_seconds(0, room)
        return turns_s + steps.gaps * steps.decode_seconds(residents)

    def _slowest(self, steps: Steps, rhythm: Rhythm) -> float:
        """99th percentile of the steps a decoding request is in, where some carry prefill."""
        prompt, room = self.demand.computed_tokens, steps.room(rhythm.beside)
        prompts = max(1, poisson_quantile(rhythm.arrivals, 0.99)) if prompt < room else 1
        return steps.mixed_seconds(rhythm.beside, min(room, prompt * prompts))


def _settled(
    steps: Steps, rate: float, residents: float, seen: float, near: Rhythm | None = None
) -> Rhythm | None:
    """The rhythm whose decoding requests are those that Little's law gives.

    `near` is the rhythm of a rate close to this one, to start from.
    """
    started = rate * steps.gaps  # gaps between tokens that begin in a second
    itl_s = steps.decode_seconds(residents) if near is None else near.itl_s
    first = min(residents, started * itl_s)
    rhythm = steps.rhythm(rate, first, seen)
    if rhythm is None:
        return None
    second = min(residents, started * rhythm.itl_s)
    if abs(second - first) < TOLERANCE * residents:
        return rhythm
    rhythm = steps.rhythm(rate, second, seen)
    if rhythm is None:
        return None
    # The time between tokens is nearly linear in the decoding requests: one secant settles it.
    slope = (min(residents, started * rhythm.itl_s) - second) / (second - first)
    settled = second + (second - first) * slope / (1 - slope) if slope < 1 else residents
    return steps.rhythm(rate, min(max(settled, 0.0), residents), seen)


def parts_of(
    steps: Steps, prefill: tuple[float, float], seqs: float, mixed_time: float
) -> StepParts:
    """Seconds by what binds them, of a second of engine time: `mixed_time` of it in steps of `prefill`
    (decoding requests, prompt tokens), the rest in steps that decode `seqs` requests.
    """
    mixed, decode = steps.mixed_parts(*prefill), steps.decode_parts(seqs)
    mixed_scale = mixed_time / fsum(mixed)
    decode_scale = (1 - mixed_time) / fsum(decode) if seqs > 0 else 0.0
    memory, compute, communication, host = (
        m * mixed_scale + d * decode_scale for m, d in zip(mixed, decode, strict=True)
    )
    return StepParts(memory, compute, communication, host)
