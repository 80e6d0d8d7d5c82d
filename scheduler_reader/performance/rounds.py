"""Rounds of a closed loop in step: what they are made of, and the state and the waits they amount to."""

from __future__ import annotations

from scheduler_reader.performance.rhythm import Steps
from scheduler_reader.performance.steady import OperatingPoint, parts_of
from scheduler_reader.performance.tails import CountedWaits
from scheduler_reader.record import Record

Waits = tuple[tuple[float, float], ...]  # so many requests wait so many seconds


class Crowd(Record):
    """Requests that keep in step: `size` at once, `total` in the run.

    `absent_s` passes between the last token of one and the arrival of the next (none where others
    wait for its seat); `steps_ahead` are decided before that token is there.  `spread` is the standard
    deviation of the steps that they decode.
    """

    size: float
    total: float
    absent_s: float
    steps_ahead: int
    spread: float = 0.0


class Rounds(Record):
    """A run in equal rounds, each of a request for everybody.  Times in seconds.

    The first requests wait from `first_s` to `last_s` for their first tokens, uniformly; `waits` are
    those of all later ones, counted from the last token of the request before.  `mixed_steps` of a
    round carry prefill, `mixed_tokens` of it beside `beside` requests; a request decodes in
    `seen_steps` of them.
    """

    crowd: Crowd
    round_s: float
    run_s: float
    first_s: float
    last_s: float
    waits: Waits
    itl_s: float
    mixed_s: float
    mixed_steps: float
    mixed_tokens: float
    beside: float
    seen_steps: float

    def waiting(self, clients: float, frontend_s: float) -> CountedWaits:
        """The waits of so many clients: those without a seat wait for rounds of the others first, some
        for one more than the rest.
        """
        size = self.crowd.size
        whole, more = divmod((clients - size) / size, 1)
        late = tuple(
            (turns, share) for turns, share in ((whole, 1 - more), (whole + 1, more)) if share
        )
        later = tuple(
            (count * share, wait_s + turns * self.round_s)
            for turns, share in late
            for count, wait_s in self.waits
        )
        share = min(1.0, size / self.crowd.total)
        return CountedWaits(share, frontend_s + self.first_s, frontend_s + self.last_s, later)

    def point(self, steps: Steps) -> OperatingPoint:
        """The state that the rounds are on the whole."""
        size, round_s = self.crowd.size, self.round_s
        mixed_share = min(1.0, self.seen_steps / steps.gaps) if steps.gaps else 0.0
        mixed_time = min(1.0, self.mixed_steps * self.mixed_s / round_s)
        last_s = steps.last_decode_seconds(size)
        return OperatingPoint(
            requests_per_s=size / round_s,
            decode_seqs=size,
            decode_step_s=steps.decode_seconds(size),
            mixed_step_s=self.mixed_s,
            slowest_step_s=last_s if mixed_share < 0.01 else max(last_s, self.mixed_s),
            mixed_share=mixed_share,
            itl_s=self.itl_s,
            prefill_s=self.first_s,
            prefill_wait_s=max(
                0.0, round_s - self.crowd.absent_s - self.first_s - steps.gaps * self.itl_s
            ),
            residence_s=round_s - self.crowd.absent_s,
            parts=parts_of(steps, (self.beside, self.mixed_tokens), size, mixed_time),
        )
