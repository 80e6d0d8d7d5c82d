"""The decoding requests of an engine, taken together.

Each takes one token a step, so a few numbers say everything: how many they are, the sum of their
contexts, when the next one ends, and how many of them need a new block in which steps (one each in
the length of a block).
"""

from __future__ import annotations

from heapq import heappop, heappush

from scheduler_reader.record import Record


class Ending(Record):
    """A request that a step ends: its place in the records, and the tokens that it then holds."""

    place: int
    tokens: int


class Member(Record):
    """A decoding request; `joined` is the step of its first token, `gone` the first without it."""

    joined: int
    prompt_tokens: int
    output_tokens: int
    gone: int

    @property
    def context(self) -> int:
        """Tokens that it looks back on in a step, less that step."""
        return self.prompt_tokens - self.joined


class Cohort:
    """Requests are joined in the step that brings their first token, and leave by themselves.

    With outputs in flight, releases up to 0.11.0 schedule a request once more after its last
    token, if that is not beyond `last_position`: `overdue_steps` is 1 there.
    """

    def __init__(self, block_size: int, last_position: int, overdue_steps: int) -> None:
        self._block_size = block_size
        self._last_position = last_position
        self._overdue_steps = overdue_steps
        self.size = 0
        self._context = 0  # sum of prompt tokens less the step of the first token
        self._block_at = [0] * block_size  # who needs a block in steps of this remainder
        self._last_steps: list[int] = []  # heap of the steps that give someone his last token
        self._ends: dict[int, list[Ending]] = {}
        self._leaving: dict[int, list[int]] = {}  # places by the step that is without them
        self._members: dict[int, Member] = {}  # by place
        self._overdue: dict[int, int] = {}

    def __contains__(self, place: int) -> bool:
        return place in self._members

    def context(self, step: int) -> int:
        """Tokens that all of them look back on in a step, the computed one included."""
        return self._context + self.size * step

    def join(self, step: int, place: int, prompt_tokens: int, output_tokens: int) -> None:
        """A prompt is whole in this step; the request decodes from the next one on."""
        last = step + output_tokens - 1
        ends_early = prompt_tokens + output_tokens <= self._last_position
        gone = last + 1 + (self._overdue_steps if ends_early else 0)
        if last not in self._ends:
            self._ends[last] = []
            heappush(self._last_steps, last)
        self._ends[last].append(Ending(place, prompt_tokens + gone - 1 - step))
        if gone == step + 1:
            return
        member = self._members[place] = Member(step, prompt_tokens, output_tokens, gone)
        self.size += 1
        self._context += member.context
        self._block_at[self._residue(member)] += 1
        self._leaving.setdefault(gone, []).append(place)
        if gone > last + 1:
            self._overdue[last + 1] = self._overdue.get(last + 1, 0) + 1

    def enter(self, step: int) -> None:
        """A step begins: those that have all their tokens are not scheduled any more."""
        for place in self._leaving.pop(step, ()):
            self._drop(place)

    def takes_block(self, step: int, place: int) -> bool:
        """Whether a member needs a block in this step."""
        return step % self._block_size == self._residue(self._members[place])

    def give_up(self, place: int) -> Member:
        """A member leaves before its end (none may be overdue)."""
        member = self._drop(place)
        self._leaving[member.gone].remove(place)
        if not self._leaving[member.gone]:
            del self._leaving[member.gone]
        last = member.joined + member.output_tokens - 1
        self._ends[last] = [each for each in self._ends[last] if each.place != place]
        while self._last_steps and not self._ends[self._last_steps[0]]:
            del self._ends[heappop(self._last_steps)]
        return member

    def _drop(self, place: int) -> Member:
        member = self._members.pop(place)
        self.size -= 1
        self._context -= member.context
        self._block_at[self._residue(member)] -= 1
        return member

    def _residue(self, member: Member) -> int:
        return (1 - member.context) % self._block_size

    def ending(self, step: int) -> list[Ending]:
        """Whom this step gives the last token; to be asked once, when the step is decided."""
        if self._last_steps and self._last_steps[0] == step:
            heappop(self._last_steps)
        return self._ends.pop(step, [])

    def overdue(self, step: int) -> int:
        """How many are scheduled in this step and get no token; to be asked once."""
        return self._overdue.pop(step, 0)

    def quiet_steps(self, step: int) -> int:
        """Steps from this one on in which nobody ends and nobody leaves."""
        if step in self._leaving or step in self._overdue or not self._last_steps:
            return 0
        return self._last_steps[0] - step

    def blocks(self, step: int, steps: int = 1) -> int:
        """Blocks that all of them take in so many steps."""
        if steps == 1:
            return self._block_at[step % self._block_size]
        cycles, rest = divmod(steps, self._block_size)
        return cycles * self.size + sum(self.blocks(step + each) for each in range(rest))

    def steps_with_blocks(self, step: int, free: int, most: int) -> int:
        """How many of `most` steps the free blocks last."""
        cycles = free // self.size
        steps, left = cycles * self._block_size, free - cycles * self.size
        while steps < most and self.blocks(step + steps) <= left:
            left -= self.blocks(step + steps)
            steps += 1
        return min(steps, most)
