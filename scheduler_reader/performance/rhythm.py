"""The steps of one engine replica under a request shape, and how they follow each other at a rate.

Each step decodes one token for every decoding request (with drafts, as many as the step model says
it yields) and fills the rest of the token budget with prefill.  A rate of requests fixes how often
steps carry prefill, and that the time between tokens and of a prefill.
"""

from __future__ import annotations

from math import exp, expm1

from scheduler_reader.performance.settings import SchedulerLimits
from scheduler_reader.performance.step import StepModel, StepParts, Times
from scheduler_reader.record import Record

GATHERINGS = 12  # enough to settle
ROUNDING = 1e-6  # of a token, a request or a step


class Demand(Record):
    """Mean tokens of a request; `computed_tokens` is the prompt without its prefix-cache hits."""

    prompt_tokens: float
    computed_tokens: float
    output_tokens: float

    @property
    def mean_context_tokens(self) -> float:
        """Context of a decoding request, averaged over its decode."""
        return self.prompt_tokens + self.output_tokens / 2


class Rhythm(Record):
    """How steps follow each other at one rate; what an `OperatingPoint` is made of."""

    rate: float  # requests per second
    seqs: float  # decoding requests
    seen: float  # the share of them that a prefill meets
    room: float  # prompt tokens that fit into a step beside those
    chunk: float  # prompt tokens of a step that carries prefill
    arrivals: float  # requests that arrive during a step
    utilization: float  # of the room, by prompts
    decode_s: float
    mixed_s: float
    full_s: float  # a step whose room is filled
    itl_s: float

    @property
    def beside(self) -> float:
        """Decoding requests a prefill shares its steps with."""
        return self.seqs * self.seen


class Steps:
    """The room that steps have, the time they take, and how they follow each other.

    A search asks thousands of times: what stays the same is at hand, two numbers are compared
    without a call.

    Pipeline stages: a step is a pass of each batch in flight (`stages.py`), so its room is that of
    all of them.  `follows`: prompts come behind each other, and all batches carry as many.
    """

    def __init__(
        self, step: StepModel, limits: SchedulerLimits, demand: Demand, *, follows: bool = False
    ) -> None:
        self._times, self._limits, self._queries = step.times, limits, step.queries
        self._batches, self._follows = step.batches_in_flight, follows
        self._prompt, self._context = demand.computed_tokens, demand.mean_context_tokens
        self._last_context = demand.prompt_tokens + demand.output_tokens
        self._cached = demand.prompt_tokens - demand.computed_tokens
        # Steps between the first token of a request and its last.
        self.gaps = (demand.output_tokens - 1) / step.acceptance

    def rhythm(self, rate: float, seqs: float, seen: float) -> Rhythm | None:
        """The rhythm of `rate` requests a second beside `seqs` decoding requests, a share `seen` of
        which a prefill meets; None where steps cannot keep up.
        """
        prompt, beside = self._prompt, seqs * seen
        room = self.room(beside)
        full_s = self.mixed_seconds(beside, room)
        utilization = rate * prompt * full_s / room
        if utilization >= 1:
            return None
        decode_s = self.decode_seconds(seqs)
        idle_s = decode_s if beside == seqs else self.decode_seconds(beside)
        chunk = room if room < prompt else prompt
        mixed_s = full_s if chunk == room else self.mixed_seconds(beside, chunk)
        share = rate * seen * prompt / chunk * decode_s
        if share > 1:
            share = 1.0
        arrivals = rate * (decode_s * (1 - share) + mixed_s * share)
        together = arrivals / (1 - exp(-arrivals)) if arrivals > 1e-6 else 1.0
        if chunk < room and together > 1.001:
            chunk = min(room, prompt * together)
            mixed_s = self.mixed_seconds(beside, chunk)
            if self._batches != 1 and not self._follows:
                chunk, mixed_s = self._gathered(rate * seen, beside, room, chunk, mixed_s)
        busy = rate * seen * (mixed_s - idle_s) * prompt / chunk
        if busy >= 1:
            return None
        itl_s = decode_s / (1 - busy) if self.gaps else 0.0
        times = decode_s, mixed_s, full_s, itl_s
        return Rhythm._make((rate, seqs, seen, room, chunk, arrivals, utilization, *times))

    def _gathered(
        self, rate: float, beside: float, room: float, chunk: float, mixed_s: float
    ) -> tuple[float, float]:
        """Prompt tokens of a step that carries some, and its time, where a step takes hardly longer with
        more of them: those that come meanwhile are in the next one.
        """
        idle_s, prompt = self.decode_seconds(beside), self._prompt
        for _ in range(GATHERINGS):
            steps = rate * prompt / chunk
            longer = 1 - steps * (mixed_s - idle_s)
            share = min(1.0, steps * idle_s / longer) if longer > 0 else 1.0
            arrivals = rate * (idle_s + share * (mixed_s - idle_s))
            if arrivals <= 0:  # a single client: nobody comes meanwhile
                break
            chunk = min(room, prompt * arrivals / -expm1(-arrivals))
            mixed_s = self.mixed_seconds(beside, chunk)
        return chunk, mixed_s

    def mixed_share(self, rhythm: Rhythm) -> float:
        """The share of a decoding request's steps that carry the prefill of others."""
        rate, chunk = rhythm.rate, rhythm.chunk
        return min(1.0, rate * rhythm.seen * self._prompt / chunk * rhythm.itl_s)

    def wait_seconds(self, rhythm: Rhythm) -> float:
        """What a prompt waits for other prompts.

        One prompt at a time queues as M/D/1; where a step has room for more, only an overflow waits.
        """
        fill, used = rhythm.room / self._prompt, rhythm.utilization
        longest_s = rhythm.full_s * max(1.0, self._prompt / rhythm.room)
        overflow: float = used ** (max(1.0, fill) ** 2)
        return rhythm.seen * overflow / (2 * (1 - used)) * longest_s

    def residence_seconds(self, rhythm: Rhythm) -> float:
        """From the admission of a request to its last token."""
        beside, prefill_s, itl_s = rhythm.beside, rhythm.mixed_s, rhythm.itl_s
        if rhythm.chunk < self._prompt:
            prefill_s = self.prompt_seconds(beside, rhythm.chunk, prefill_s)
        in_progress_s = 0.5 * min(beside, 1.0) * itl_s / self._batches
        return in_progress_s + prefill_s + self.wait_seconds(rhythm) + self.gaps * itl_s

    def room(self, seqs: float) -> float:
        """Prefill tokens a step has room for beside `seqs` decoding requests.

        Without chunked prefill a prompt is computed whole or not at all.
        """
        limits, prompt, batches = self._limits, self._prompt, self._batches
        left = limits.token_budget - seqs * self._queries / batches
        if not limits.is_chunked:
            return batches * max(1, int(left / prompt)) * prompt
        longest = limits.longest_chunk_tokens
        if prompt > longest and left > longest:
            left = longest
        return batches * left if left > 1 else 1.0

    @property
    def prompt(self) -> float:
        """Tokens to compute of a prompt."""
        return self._prompt

    def at_once(self, seqs: float) -> tuple[float, float]:
        """Prompts that a full step beside `seqs` decoding requests computes at, and in how many steps
        each: one, or several of a prompt that is longer than a step has room for, or than it may take.
        """
        limits, prompt = self._limits, self._prompt
        left = max(1.0, limits.token_budget - seqs * self._queries)
        if not limits.is_chunked:
            return float(max(1, int(left / prompt))), 1.0
        chunk = min(prompt, left, limits.longest_chunk_tokens)
        return left / chunk, prompt / chunk

    def decoded_beside(self, tokens: float) -> float:
        """Requests that a step with so many prompt tokens has room to decode."""
        left = self._limits.token_budget - tokens - ROUNDING
        return max(0.0, left / self._queries)

    def saturated(self, requests: float) -> float:
        """Steps in which so many are computed and decoded where all their tokens fill all steps."""
        tokens = self._prompt + self.gaps * self._queries
        return requests * tokens / self._limits.token_budget

    def last_decode_seconds(self, seqs: float) -> float:
        """A step that brings last tokens, in which nobody is computed: none where nobody decodes."""
        if seqs < 1e-6:
            return 0.0
        memory, compute, communication, host = self._times(seqs, seqs * self._last_context)
        return memory + compute + communication + host

    def decode_seconds(self, seqs: float) -> float:
        """A step that only decodes; a fraction of a request is a step that takes place less often."""
        if seqs <= 0:
            return 0.0
        whole = seqs if seqs > 1 else 1.0
        memory, compute, communication, host = self._times(whole, whole * self._context)
        return memory + compute + communication + host

    def decode_parts(self, seqs: float) -> StepParts:
        """A step that decodes so many requests, at least one, by what binds it."""
        whole = max(seqs, 1.0)
        return StepParts(*self._times(whole, whole * self._context))

    def mixed_seconds(self, seqs: float, tokens: float) -> float:
        """A step that decodes `seqs` requests and computes `tokens` of prompts."""
        memory, compute, communication, host = self._mixed(seqs, tokens)
        return memory + compute + communication + host

    def mixed_parts(self, seqs: float, tokens: float) -> StepParts:
        """The same by what binds it."""
        return StepParts(*self._mixed(seqs, tokens))

    def _mixed(self, seqs: float, tokens: float) -> Times:
        """As many equal chunks as `tokens` are of a prompt, or of a batch that carries some of them."""
        prompt, batches = self._prompt, self._batches
        if batches != 1:
            tokens /= self._carriers(seqs, tokens)
        chunk = tokens if tokens < prompt else prompt
        # The step model takes a step's tokens to be spread over the batches.
        chunks = ((chunk * batches, self._cached + (prompt - chunk) / 2),)
        return self._times(seqs, seqs * self._context, chunks, tokens / chunk)

    def _carriers(self, seqs: float, tokens: float) -> float:
        """How many of the batches in flight carry so many prompt tokens: as many as they fill, and as
        prompts that come at any time, each to the batch that is decided next, meet.
        """
        batches = self._batches
        if self._follows:
            return batches
        prompts = max(1.0, tokens / self._prompt)
        met: float = batches * (1 - (1 - 1 / batches) ** prompts)
        return min(float(batches), max(met, batches * tokens / self.room(seqs)))

    def prompt_seconds(self, seqs: float, chunk: float, chunk_s: float) -> float:
        """All steps of one prompt beside `seqs` decoding requests: full chunks of `chunk_s` seconds,
        then the rest.
        """
        full = int(self._prompt // chunk)
        rest = self._prompt - full * chunk
        return full * chunk_s + (self.mixed_seconds(seqs, rest) if rest >= 1 else 0.0)
