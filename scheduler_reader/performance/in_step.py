"""A closed loop whose outputs are all of one length, or nearly: its requests stay in step.

Prompts fill steps in the order of their arrival.  Requests whose first tokens come in one step (a
group) also end in one step, since every step yields each of them as much, and their clients' next
requests come together again.  So the groups of the start-up burst follow each other round after
round, a step apart, and wait for each other's prompts: through the steps that begin before the
next request is there, the one decided ahead with asynchronous scheduling, and those of the prompt
itself (vllm/v1/core/sched/scheduler.py, Scheduler.schedule; vllm/v1/engine/core.py,
step_with_batch_queue).  Neglected: that groups merge where they leave room in a step.

Outputs that differ by some steps spread the ends of a round over more steps than its prompts fill,
round after round more.  Groups are smaller then, and there are more; where there are fewer requests
than steps in which they end, they are taken to be out of step (`steady`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, fsum, sqrt

from scheduler_reader.performance.rhythm import ROUNDING, Steps
from scheduler_reader.performance.rounds import Crowd, Rounds, Waits
from scheduler_reader.record import Record


def rounds_in_step(steps: Steps, crowd: Crowd) -> Rounds | None:
    """The rounds of a crowd of more than one whose first requests come together; None: it is out of
    step.
    """
    size = crowd.size
    packed, span = steps.at_once(0)
    if size * span > packed:
        packed, span = steps.at_once(max(1.0, size - 2 * packed / span))
    packed = min(packed, size)
    # In how many steps the requests of a round end, half-way through the run: where one ends moves at
    # random by the spread of outputs each round.
    filled = ceil(size / packed - ROUNDING) * span
    moves = max(0.0, crowd.total / size - 1) / 2
    strayed = crowd.spread * sqrt(12 * moves)
    if strayed > min(size * span, steps.gaps):
        return None
    ending = sqrt(filled**2 + strayed**2)
    group = min(packed, max(1.0, size / ending)) if crowd.spread else packed
    rounds = _Rounds(steps, crowd, packed, group, span)
    return rounds.without_pause() or rounds.with_pause()


class _Line(Record):
    """Prompts behind each other: a group of them at once, each through `span` steps of `step_s`."""

    group: float
    span: float
    tokens: float  # of a full step
    beside: float  # requests that it decodes
    step_s: float
    total_s: float

    def begins(self, place: int) -> int:
        """The step in which the prompts of the group at that place begin."""
        return ceil(place * self.span - ROUNDING)

    def groups(self, requests: float) -> int:
        """How many they make."""
        return ceil(requests / self.group - ROUNDING)


class _Rounds:
    """The search for them, with so many prompts in groups at first and `group` later.

    `pause` is what lies between a group's last token and its next prompts.
    """

    def __init__(
        self, steps: Steps, crowd: Crowd, packed: float, group: float, span: float
    ) -> None:
        self._steps, self._crowd, size = steps, crowd, crowd.size
        self._packed, self._group, self._span = packed, group, span
        # Steps between the last token of the first group and that of the last one.
        self._spread = (ceil(size / self._group - ROUNDING) - 1) * span
        self._pause, self._missed = self._steps_of_pause()
        self._pause_s = max(crowd.absent_s, self._pause[-1])
        self._is_drained = len(self._pause) - 1 >= self._spread - ROUNDING
        self._beside = (size - self._group) / 2
        if not self._is_drained:
            away = self._group * (1 + (len(self._pause) - 1) / span)
            self._beside = max(0.0, size - away)

    def _steps_of_pause(self) -> tuple[list[float], int]:
        """When steps end after the first group's last token and before its next prompts are computed,
        from none on, and how many of them begin before those are there.
        """
        crowd, ends, missed, ahead = self._crowd, [0.0], 0, self._crowd.steps_ahead
        while len(ends) - 1 < self._spread - ROUNDING:
            if ends[-1] < crowd.absent_s:
                missed += 1
            elif ahead:
                ahead -= 1
            else:
                break
            ended = self._group * (1 + int((len(ends) - 1) / self._span + ROUNDING))
            ends.append(ends[-1] + self._steps.last_decode_seconds(crowd.size - ended))
        return ends, missed

    def without_pause(self) -> Rounds | None:
        """Where prompts fill all steps, and requests wait in a queue for them; None: they do not."""
        steps, crowd, gaps = self._steps, self._crowd, self._steps.gaps
        full = steps.saturated(crowd.size)
        if full <= gaps + len(self._pause):
            return None
        decoding = crowd.size * gaps / full
        group, span = steps.at_once(decoding)
        tokens = group * steps.prompt / span
        count = crowd.size / group * span
        decoding = min(decoding, steps.decoded_beside(tokens))
        step_s = steps.mixed_seconds(decoding, tokens)
        round_s = count * step_s
        later = crowd.total - crowd.size
        return Rounds(
            crowd=crowd,
            round_s=round_s,
            run_s=crowd.total / crowd.size * round_s + gaps * steps.decode_seconds(decoding / 2),
            first_s=step_s,
            last_s=round_s,
            waits=((later, max(0.0, round_s - gaps * step_s)),) if later > 0 else (),
            itl_s=step_s if gaps else 0.0,
            mixed_s=step_s,
            mixed_steps=count,
            mixed_tokens=tokens,
            beside=decoding,
            seen_steps=gaps,
        )

    def with_pause(self) -> Rounds:
        """Where all prompts of a round are through before the first request of it ends."""
        steps, crowd, size = self._steps, self._crowd, self._crowd.size
        line = self._line(self._group, self._span)
        whole = int(crowd.total / size + ROUNDING)
        rest = max(0.0, crowd.total - whole * size)
        mixed = self._steps_of(size, line)
        round_s = self._round_seconds(size, line)
        one_round = tuple(self._waits_of_round(line, whole))
        waits = tuple(_counted(one_round, whole - 1, rest))
        run_s, ended_s = self._ends(line, whole * round_s - self._pause_s, rest)
        first_s, last_s = self._burst(line)
        waited_s = size * (first_s + last_s) / 2
        waited_s += fsum(count * wait_s for count, wait_s in waits)
        decoded_s = (ended_s - waited_s) / crowd.total
        seen = last_seen = (mixed - min(line.span, mixed)) / 2
        if not self._is_drained:
            seen = max(0.0, mixed - line.span - len(self._pause) + 1)
        return Rounds(
            crowd=crowd,
            round_s=round_s,
            run_s=run_s,
            first_s=first_s,
            last_s=last_s,
            waits=waits,
            itl_s=max(steps.decode_seconds(1.0), decoded_s / steps.gaps) if steps.gaps else 0.0,
            mixed_s=line.step_s,
            mixed_steps=mixed,
            mixed_tokens=line.tokens,
            beside=line.beside,
            seen_steps=seen + (last_seen - seen) * min(1.0, size / crowd.total),
        )

    # Prompts

    def _line(self, group: float, span: float) -> _Line:
        steps, tokens = self._steps, group * self._steps.prompt / span
        beside = min(self._beside, steps.decoded_beside(tokens))
        step_s = steps.mixed_seconds(beside, tokens)
        line = _Line(group, span, tokens, beside, step_s, 0.0)
        return line._replace(total_s=self._prefill_seconds(self._crowd.size, line))

    def _burst(self, line: _Line) -> tuple[float, float]:
        """The waits of the first and the last request, whose prompts fill all steps."""
        if self._group < self._packed:
            line = self._line(self._packed, self._span)
        return min(line.span * line.step_s, line.total_s), line.total_s

    def _steps_of(self, requests: float, line: _Line) -> int:
        return ceil(requests * self._steps.prompt / line.tokens - ROUNDING)

    def _prefill_seconds(self, requests: float, line: _Line) -> float:
        """Full steps, and one with what is left."""
        tokens = requests * self._steps.prompt
        full = int(tokens / line.tokens + ROUNDING)
        rest = tokens - full * line.tokens
        last_s = self._steps.mixed_seconds(line.beside, rest) if rest >= 1 else 0.0
        return full * line.step_s + last_s

    def _round_seconds(self, requests: float, line: _Line) -> float:
        """From the end of the first group to its next end, where so many send another request."""
        mixed = self._steps_of(requests, line)
        plain = max(0.0, self._steps.gaps - (mixed - min(line.span, mixed)))
        decode_s = self._steps.decode_seconds(requests)
        return self._pause_s + self._prefill_seconds(requests, line) + plain * decode_s

    # Waits

    def _waits_of_round(self, line: _Line, rounds: int) -> Iterator[tuple[float, float]]:
        """Groups that come just in time for their step, one by one, do not fill it up from the next:
        where a step has room for 15.9 prompts, each round one more group, from the first one on, has
        15, and of the others some prompts straddle two steps.
        """
        fraction = line.group % 1
        is_just_in_time = self._missed == 1 and not self._is_drained and line.span == 1
        if not is_just_in_time or fraction < ROUNDING or rounds < 2:
            yield from self._waits(line)
            return
        steps, later = self._steps_of(self._crowd.size, line), rounds - 1
        share = later / (2 * steps) if steps > later else 1 - steps / (2 * later)
        for count, wait_s in self._waits(line, fraction / line.group):
            yield count * (1 - share), wait_s
        for count, wait_s in self._waits(self._line(line.group - fraction, 1.0)):
            yield count * share, wait_s

    def _waits(self, line: _Line, straddling: float = 0.0) -> Iterator[tuple[float, float]]:
        """From each group's last token to its next first one; those in the middle all wait alike."""
        paused, last = len(self._pause) - 1, line.groups(self._crowd.size) - 1
        span = ceil(line.span - ROUNDING) + straddling
        place = 0
        while place < last and line.begins(place) <= paused:
            through = line.begins(place) + (span if place else line.span)
            first_s = self._pause_s + min(through * line.step_s, line.total_s)
            yield line.group, first_s - self._pause[line.begins(place)]
            place += 1
        if place < last:
            yield (last - place) * line.group, (paused + span) * line.step_s
        begins = line.begins(last)
        past = max(0, begins - paused)
        ended_s = self._pause_s + past * line.step_s if past else self._pause[begins]
        yield self._crowd.size - last * line.group, self._pause_s + line.total_s - ended_s

    # The end of the run

    def _ends(self, line: _Line, last_s: float, rest: float) -> tuple[float, float]:
        """When the run ends, and the sum of the times at which the clients end, if the first group ends
        its last whole round at `last_s` and then `rest` requests are left.
        """
        steps, size, spread = self._steps, self._crowd.size, self._spread
        decode_s = steps.decode_seconds(size / 2)
        if rest < ROUNDING:
            return last_s + spread * decode_s, size * (last_s + spread / 2 * decode_s)
        behind = (line.groups(rest) - 1) * line.span
        behind_s = behind * steps.decode_seconds(rest / 2)
        later_s = last_s + self._round_seconds(rest, line)
        # Those without another request end beside the prompts of the rest.
        middle = (behind + spread) / 2
        mixed = min(max(0.0, middle - len(self._pause) + 1), self._steps_of(rest, line))
        middle_s = last_s + middle * decode_s + mixed * (line.step_s - decode_s)
        ended_s = rest * (later_s + behind_s / 2) + (size - rest) * middle_s
        return later_s + behind_s, ended_s


def _counted(waits: Waits, rounds: int, rest: float) -> Iterator[tuple[float, float]]:
    """The waits of so many rounds, and of the first `rest` requests of another."""
    for count, wait_s in waits:
        more = min(count, rest)
        rest -= more
        if rounds or more:
            yield rounds * count + more, wait_s
