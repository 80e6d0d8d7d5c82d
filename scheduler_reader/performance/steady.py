"""The steady state of one engine replica: how fast requests flow when so many are resident.

Requests sit in the running queue while they are prefilled and then while they decode.  Each step
decodes one token for every decoding request (with drafts, as many as the step model says it yields)
and fills the rest of the token budget with prefill.
A rate of requests fixes how often steps carry prefill, that fixes the time between tokens and of
a prefill, and both must add up to the number of residents (Little's law); `flow` finds the rate
where they do.  Neglected: that requests of equal length stay in step with each other.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

from scheduler_reader.performance.settings import SchedulerLimits
from scheduler_reader.performance.step import StepModel, StepParts
from scheduler_reader.performance.tails import poisson_quantile

ITERATIONS = 30
TOLERANCE = 1e-3  # of the residents; far below what the fits are good for


class Demand(NamedTuple):
    """Mean tokens of a request; `computed_tokens` is the prompt without its prefix-cache hits."""

    prompt_tokens: float
    computed_tokens: float
    output_tokens: float

    @property
    def mean_context_tokens(self) -> float:
        """Context of a decoding request, averaged over its decode."""
        return self.prompt_tokens + self.output_tokens / 2


class OperatingPoint(NamedTuple):
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


class _Rhythm(NamedTuple):
    """How steps follow each other at one rate; what `OperatingPoint` is made of."""

    seqs: float
    beside: float  # decoding requests a prefill shares its steps with
    chunk: float  # prompt tokens of a step that carries prefill
    arrivals: float  # requests that arrive during a step
    decode_s: float
    mixed_s: float
    mixed_share: float
    itl_s: float
    wait_s: float  # of a prompt, for other prompts
    residence_s: float


class Replica(NamedTuple):
    """One data-parallel replica under a request shape."""

    step: StepModel
    limits: SchedulerLimits
    demand: Demand

    @property
    def gaps(self) -> float:
        """Steps between the first token of a request and its last."""
        return (self.demand.output_tokens - 1) / self.step.acceptance

    def flow(self, residents: float) -> OperatingPoint:
        """The steady state with `residents` requests always in the running queue (closed loop).

        The residents a rate needs grow with the rate, without bound towards the capacity: the
        rate is found by secants between a rate that needs too few and one that needs too many
        (Illinois), by bisection while the latter is beyond the capacity.
        """
        others = max(residents - 1, 0.0)
        low, high = 0.0, residents / self._shortest_residence(residents)
        low_miss, high_miss = -residents, inf
        rate = min(residents / self._crowded_residence(residents), 0.9 * high)
        best: _Rhythm | None = None
        for _ in range(ITERATIONS):
            rhythm = self._settled(rate, residents, others, best)
            miss = inf if rhythm is None else rate * rhythm.residence_s - residents
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
        return self._point(low, best)

    def at_rate(self, rate: float, residents: float, others: float) -> OperatingPoint | None:
        """The state at a rate of requests per second; None where steps cannot keep up.

        `others` are the residents a request meets: one less in a closed loop, all of them when
        arrivals are independent of the state (open loop).
        """
        rhythm = self._settled(rate, residents, others)
        return None if rhythm is None else self._point(rate, rhythm)

    def _settled(
        self, rate: float, residents: float, others: float, near: _Rhythm | None = None
    ) -> _Rhythm | None:
        """The rhythm whose decoding requests are those that Little's law gives.

        `near` is the rhythm of a rate close to this one, to start from.
        """
        gaps, seen = self.gaps, min(others / residents, 1.0)

        def decoding(itl_s: float) -> float:
            return min(residents, rate * gaps * itl_s)

        first = decoding(self.decode_seconds(residents) if near is None else near.itl_s)
        rhythm = self._rhythm(rate, first, seen)
        if rhythm is None:
            return None
        second = decoding(rhythm.itl_s)
        if abs(second - first) < TOLERANCE * residents:
            return rhythm
        rhythm = self._rhythm(rate, second, seen)
        if rhythm is None:
            return None
        # The time between tokens is nearly linear in the decoding requests: one secant settles it.
        slope = (decoding(rhythm.itl_s) - second) / (second - first)
        settled = second + (second - first) * slope / (1 - slope) if slope < 1 else residents
        return self._rhythm(rate, min(max(settled, 0.0), residents), seen)

    def _rhythm(self, rate: float, seqs: float, seen: float) -> _Rhythm | None:
        prompt, gaps = self.demand.computed_tokens, self.gaps
        beside = seqs * seen
        room = self.room(beside)
        full_s = self.mixed_seconds(beside, room)
        utilization = rate * prompt * full_s / room
        if utilization >= 1:
            return None
        decode_s = self.decode_seconds(seqs)
        idle_s = decode_s if beside == seqs else self.decode_seconds(beside)
        chunk = min(prompt, room)
        mixed_s = full_s if chunk == room else self.mixed_seconds(beside, chunk)
        share = min(1.0, rate * seen * prompt / chunk * decode_s)
        arrivals = rate * (decode_s * (1 - share) + mixed_s * share)
        together = arrivals / (1 - exp(-arrivals)) if arrivals > 1e-6 else 1.0
        if chunk < room and together > 1.001:
            chunk = min(room, prompt * together)
            mixed_s = self.mixed_seconds(beside, chunk)
        busy = rate * seen * (mixed_s - idle_s) * prompt / chunk
        if busy >= 1:
            return None
        itl_s = decode_s / (1 - busy) if gaps else 0.0
        batched, longest_s = max(1.0, room / prompt), full_s * max(1.0, prompt / room)
        # One prompt at a time queues as M/D/1; where a step has room for more, only an overflow waits.
        wait_s = seen * utilization ** (batched**2) / (2 * (1 - utilization)) * longest_s
        in_progress_s = 0.5 * min(beside, 1.0) * itl_s
        prefill_s = mixed_s if chunk >= prompt else self.prompt_seconds(beside, chunk)
        return _Rhythm(
            seqs=seqs,
            beside=beside,
            chunk=chunk,
            arrivals=arrivals,
            decode_s=decode_s,
            mixed_s=mixed_s,
            mixed_share=min(1.0, rate * seen * prompt / chunk * itl_s),
            itl_s=itl_s,
            wait_s=wait_s,
            residence_s=in_progress_s + prefill_s + wait_s + gaps * itl_s,
        )

    def _point(self, rate: float, rhythm: _Rhythm) -> OperatingPoint:
        demand = self.demand
        mixed_time = min(1.0, rate * demand.computed_tokens / rhythm.chunk * rhythm.mixed_s)
        gaps = self.gaps
        slowest_s = self._slowest(rhythm)
        # One prompt in a hundred shares its step with as many others as the slowest step holds.
        crowded_s = max(0.0, slowest_s - rhythm.mixed_s) / log(100)
        # A request comes while a step runs, more likely a long one.
        others = 0.5 * min(rhythm.beside, 1.0)
        decoding_s = others * (1 - mixed_time) * rhythm.decode_s
        prefilling_s = others * mixed_time * rhythm.mixed_s
        return OperatingPoint(
            requests_per_s=rate,
            decode_seqs=rhythm.seqs,
            decode_step_s=rhythm.decode_s,
            mixed_step_s=rhythm.mixed_s,
            slowest_step_s=slowest_s,
            mixed_share=rhythm.mixed_share,
            itl_s=rhythm.itl_s,
            prefill_s=rhythm.residence_s - gaps * rhythm.itl_s - rhythm.wait_s,
            prefill_wait_s=max(rhythm.wait_s, crowded_s, prefilling_s) + decoding_s,
            residence_s=rhythm.residence_s,
            parts=self._parts(rhythm, mixed_time),
        )

    def room(self, seqs: float) -> float:
        """Prefill tokens a step has room for beside `seqs` decoding requests.

        Without chunked prefill a prompt is computed whole or not at all.
        """
        prompt = self.demand.computed_tokens
        left = self.limits.token_budget - seqs * self.step.queries
        if not self.limits.is_chunked:
            return max(1, int(left / prompt)) * prompt
        if prompt > self.limits.longest_chunk_tokens:
            left = min(left, self.limits.longest_chunk_tokens)
        return max(1.0, left)

    def decode_seconds(self, seqs: float) -> float:
        """A step that only decodes; a fraction of a request is a step that takes place less often."""
        if seqs <= 0:
            return 0.0
        whole = max(seqs, 1.0)
        return self.step.step_seconds(whole, whole * self.demand.mean_context_tokens)

    def mixed_seconds(self, seqs: float, tokens: float) -> float:
        """A step that decodes `seqs` requests and computes `tokens` of prompts."""
        return sum(self._mixed_parts(seqs, tokens))

    def _mixed_parts(self, seqs: float, tokens: float) -> StepParts:
        demand = self.demand
        cached = demand.prompt_tokens - demand.computed_tokens
        chunk = min(tokens, demand.computed_tokens)
        depth = cached + (demand.computed_tokens - chunk) / 2
        context = seqs * demand.mean_context_tokens
        return self.step.step_parts(seqs, context, [(chunk, depth)], copies=tokens / chunk)

    def prompt_seconds(self, seqs: float, chunk: float) -> float:
        """All steps of one prompt beside `seqs` decoding requests: full chunks, then the rest."""
        prompt = self.demand.computed_tokens
        full = int(prompt // chunk)
        rest = prompt - full * chunk
        seconds = full * self.mixed_seconds(seqs, chunk) if full else 0.0
        return seconds + (self.mixed_seconds(seqs, rest) if rest >= 1 else 0.0)

    def _shortest_residence(self, residents: float) -> float:
        """A lower bound of a request's time: its share of a full step, and decode on its own."""
        demand, room = self.demand, self.room(0)
        prefill_s = demand.computed_tokens / room * self.mixed_seconds(0, room)
        alone_s = self.prompt_seconds(0, min(demand.computed_tokens, room))
        decode_s = self.gaps * self.decode_seconds(1.0)
        return 0.9 * (min(prefill_s, alone_s) + decode_s)

    def _crowded_residence(self, residents: float) -> float:
        """A guess of a request's time: decode beside everybody, prompts taking turns."""
        demand, room = self.demand, self.room(residents)
        turns_s = residents * demand.computed_tokens / room * self.mixed_seconds(0, room)
        return turns_s + self.gaps * self.decode_seconds(residents)

    def _slowest(self, rhythm: _Rhythm) -> float:
        """99th percentile of the steps a decoding request is in."""
        if rhythm.mixed_share < 0.01:
            return rhythm.decode_s
        prompt, room = self.demand.computed_tokens, self.room(rhythm.beside)
        prompts = max(1, poisson_quantile(rhythm.arrivals, 0.99)) if prompt < room else 1
        return self.mixed_seconds(rhythm.beside, min(room, prompt * prompts))

    def _parts(self, rhythm: _Rhythm, mixed_time: float) -> StepParts:
        """Seconds by what binds them, of a second of engine time."""
        mixed = self._mixed_parts(rhythm.beside, rhythm.chunk)
        whole = max(rhythm.seqs, 1.0)
        decode = self.step.step_parts(whole, whole * self.demand.mean_context_tokens)
        mixed_scale = mixed_time / sum(mixed)
        decode_scale = (1 - mixed_time) / sum(decode) if rhythm.seqs > 0 else 0.0
        memory, compute, communication, host = (
            m * mixed_scale + d * decode_scale for m, d in zip(mixed, decode, strict=True)
        )
        return StepParts(memory, compute, communication, host)
