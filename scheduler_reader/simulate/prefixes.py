"""KV blocks of prefixes that a group of requests shares, in stretches that are alike.

A prefix has hundreds of blocks, yet most are held, freed and taken together.  A `Stretch` is a row
of them with the same copies, each with the same users; it is cut where a request finds less, and
joined again where its neighbour is the same.  Contents are numbers: the group's first one, and the
block's position added.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from scheduler_reader.record import Record


class Held(Record):
    """How many blocks of its prefix a waiting request finds, and how many of them others hold."""

    blocks: int
    in_use: int


class Copy:
    """The blocks of a stretch that were computed once: the places of those who hold them, or the
    number of the return with which they came back to the free list.
    """

    __slots__ = ("returned", "stretch", "users")

    def __init__(self, stretch: Stretch, users: set[int], returned: int = 0) -> None:
        self.stretch = stretch
        self.users = users
        self.returned = returned


class Stretch:
    """Blocks with the contents from `first` up to `end`; of their copies, the oldest is found."""

    __slots__ = ("copies", "end", "first")

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end
        self.copies: list[Copy] = []

    @property
    def size(self) -> int:
        return self.end - self.first


class Prefixes:
    """Blocks of prefixes that have a hash: held, or returned to the free list and not taken yet.

    The free list keeps its order (`blocks.Blocks`); of each return, the copies stand here, in the
    order in which their blocks are taken: the last block of the prefix first.
    """

    def __init__(self) -> None:
        self._stretches: dict[int, Stretch] = {}  # by their first content
        self._firsts: list[int] = []  # the same contents in order
        self._returns: dict[int, list[Copy]] = {}

    def find(self, content: int, most: int) -> Held:
        """What there is of a prefix of `most` blocks that begins with a content."""
        end, in_use = content + most, 0
        at = content
        while at < end:
            stretch = self._stretches.get(at)
            if stretch is None:
                break
            at = min(stretch.end, end)
            if stretch.copies[0].users:
                in_use += at - stretch.first
        return Held(at - content, in_use)

    def is_lost_from_end(self, content: int, blocks: int, after: int) -> bool:
        """Whether of these blocks, all found, and what came back in the return `after` and is found
        behind them, the last that is free is always the next one taken.
        """
        oldest = [stretch.copies[0] for stretch in self._between(content, content + blocks)]
        returned = [inf if copy.users else copy.returned for copy in oldest]
        return all(before >= later for before, later in pairwise([*returned, after]))

    def hold(self, place: int, content: int, blocks: int) -> Iterator[tuple[int, int]]:
        """A request holds what it found; the returns whose blocks it takes, each with how many."""
        end = content + blocks
        self._cut(end)
        for stretch in self._between(content, end):
            copy = stretch.copies[0]
            if not copy.users:
                self._remove(copy)
                yield copy.returned, stretch.size
            copy.users.add(place)

    def write(self, place: int, first: int, end: int) -> None:
        """A request has computed blocks anew, with these contents; they have a hash from now on."""
        self._cut(end)
        while first < end:
            stretch = self._stretches.get(first)
            if stretch is None:
                after = bisect_left(self._firsts, first)
                until = self._firsts[after] if after < len(self._firsts) else end
                stretch = self._add(Stretch(first, min(until, end)))
            stretch.copies.append(Copy(stretch, {place}))
            first = stretch.end

    def leave(self, place: int, content: int, blocks: int, number: int) -> int:
        """A request holds its blocks no longer; how many come back, in the return of this number."""
        returned: list[Copy] = []
        freed = 0
        upper: Stretch | None = None
        for stretch in reversed(list(self._between(content, content + blocks))):
            copy = next(each for each in stretch.copies if place in each.users)
            copy.users.discard(place)
            if not copy.users:
                copy.returned = number
                freed += stretch.size
                returned.append(copy)
            if upper is not None and self._are_alike(stretch, upper):
                stretch.end = upper.end
                self._delete(upper)
                if not copy.users:
                    del returned[-2]
            upper = stretch
        if returned:
            self._returns[number] = returned
        return freed

    def take(self, number: int, blocks: int) -> None:
        """So many blocks of a return are taken for something else: what they held is forgotten."""
        while blocks:
            copy = self._returns[number][0]
            stretch = copy.stretch
            if stretch.size > blocks:
                if len(stretch.copies) == 1:
                    stretch.end -= blocks
                    return
                self._cut(stretch.end - blocks)
                continue
            blocks -= stretch.size
            self._remove(copy)
            stretch.copies.remove(copy)
            if not stretch.copies:
                self._delete(stretch)

    def _between(self, content: int, end: int) -> Iterator[Stretch]:
        """The stretches that these contents consist of, or begin."""
        while content < end:
            stretch = self._stretches[content]
            yield stretch
            content = stretch.end

    @staticmethod
    def _are_alike(lower: Stretch, upper: Stretch) -> bool:
        """Whether two neighbours that one request has just left can be one again.

        Who holds a block of a prefix holds those before it too: with one copy each, the same number
        of users are the same ones.
        """
        return len(lower.copies) == len(upper.copies) == 1 and len(lower.copies[0].users) == len(
            upper.copies[0].users
        )

    def _cut(self, at: int) -> None:
        """Let no stretch go on beyond a content."""
        before = bisect_left(self._firsts, at) - 1
        if before < 0:
            return
        lower = self._stretches[self._firsts[before]]
        if lower.end <= at:
            return
        upper = self._add(Stretch(at, lower.end))
        lower.end = at
        for copy in lower.copies:
            other = Copy(upper, set(copy.users), copy.returned)
            upper.copies.append(other)
            if not copy.users:
                returned = self._returns[copy.returned]
                returned.insert(returned.index(copy), other)

    def _add(self, stretch: Stretch) -> Stretch:
        self._stretches[stretch.first] = stretch
        insort(self._firsts, stretch.first)
        return stretch

    def _delete(self, stretch: Stretch) -> None:
        del self._stretches[stretch.first]
        del self._firsts[bisect_left(self._firsts, stretch.first)]

    def _remove(self, copy: Copy) -> None:
        """A copy is on the free list no longer."""
        returned = self._returns[copy.returned]
        returned.remove(copy)
        if not returned:
            del self._returns[copy.returned]
