"""The decoding requests of an engine, taken together.

Each takes one token a step, so a few numbers say everything: how many they are, the sum of their
contexts, when the next one ends, and how many of them need a new block in which steps (one each in
the length of a block).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple


class Ending(NamedTuple):
    """A request that a step ends: its place in the records, and the blocks it then holds."""

    place: int
    blocks: int


class _Leaving(NamedTuple):
    contexts: list[int]
    residues: list[int]


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
        self._leaving: dict[int, _Leaving] = {}
        self._overdue: dict[int, int] = {}

    def context(self, step: int) -> int:
        """Tokens that all of them look back on in a step, the computed one included."""
        return self._context + self.size * step

    def join(self, step: int, place: int, prompt_tokens: int, output_tokens: int) -> None:
        """A prompt is whole in this step; the request decodes from the next one on."""
        size, last = self._block_size, step + output_tokens - 1
        ends_early = prompt_tokens + output_tokens <= self._last_position
        gone = last + 1 + (self._overdue_steps if ends_early else 0)
        if last not in self._ends:
            self._ends[last] = []
            heappush(self._last_steps, last)
        blocks = -(-(prompt_tokens + gone - 1 - step) // size)
        self._ends[last].append(Ending(place, blocks))
        if gone == step + 1:
            return
        residue, context = (step + 1 - prompt_tokens) % size, prompt_tokens - step
        self.size += 1
        self._context += context
        self._block_at[residue] += 1
        leaving = self._leaving.setdefault(gone, _Leaving([], []))
        leaving.contexts.append(context)
        leaving.residues.append(residue)
        if gone > last + 1:
            self._overdue[last + 1] = self._overdue.get(last + 1, 0) + 1

    def enter(self, step: int) -> None:
        """A step begins: those that have all their tokens are not scheduled any more."""
        leaving = self._leaving.pop(step, None)
        if leaving is None:
            return
        self.size -= len(leaving.contexts)
        self._context -= sum(leaving.contexts)
        for residue in leaving.residues:
            self._block_at[residue] -= 1

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
