"""KV blocks by what can be found in them, counted where nothing can.

`block_pool.BlockPool` knows what each block holds.  Here a run goes from event to event, and most
blocks are a number: what a request wrote itself is of use to that request alone, and only if it was
preempted and waits.  Blocks of a prefix that a group of requests shares are told apart.
"""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from typing import NamedTuple, TypeAlias

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import NotPlainError

# What stands in the free list: a block of a prefix by its number, the own blocks of a preempted
# request by its place, or blocks in which nothing is found.
Entry: TypeAlias = int | tuple[str, int]
OWN, NOTHING = "own", "nothing"
_POSITIONS = 32  # bits of a block's position in what it holds: the group's number is above them


class Found(NamedTuple):
    """What a waiting request finds: blocks of its prefix, and how many it wrote itself."""

    prefix: tuple[int, ...]
    own: int

    @property
    def size(self) -> int:
        """Blocks in all."""
        return len(self.prefix) + self.own


NOTHING_FOUND = Found((), 0)


class Blocks:
    """`free` blocks in the order in which they are taken, and those that requests hold.

    The order is kept from the first request on that could find something; before, and with prefix
    caching off, blocks are a number.
    """

    def __init__(self, config: EngineConfig, behaviour: Behaviour) -> None:
        self.free = config.num_gpu_blocks - 1
        self._size = config.block_size
        self._keeps_content = config.enable_prefix_caching
        self._unhashed_first = behaviour.free_order == "unhashed_first"
        self._is_ordered = False
        self._list: OrderedDict[Entry, int] = OrderedDict()
        self._last_number = 0  # of a block of a prefix, or of blocks with nothing in them
        self._prefixes: dict[int, tuple[int, int]] = {}  # (first content, blocks) by place
        self._tables: dict[int, list[int]] = {}  # held blocks of the prefix by place
        self._users: dict[int, int] = {}  # by block of a prefix
        self._content: dict[int, int] = {}  # by such a block, once it has a hash
        self._holder: dict[int, int] = {}  # the other way round: the oldest block
        self._younger: dict[int, list[int]] = {}  # the others with the same content
        self._changes = 0  # of what can be found
        self._freed: dict[int, int] = {}  # by place with own blocks: after how many they came back
        self._last = (-1, 0, 0), NOTHING_FOUND  # asked for, and the answer

    def arrive(self, place: int, group: int | None, prefix_tokens: int) -> None:
        """A request shares its first tokens with all of its group."""
        if group is not None and self._keeps_content and prefix_tokens >= self._size:
            self._order()
            self._prefixes[place] = group << _POSITIONS, prefix_tokens // self._size

    def find(self, place: int, known: int) -> Found:
        """What a waiting request of so many tokens finds: never the block of its last one."""
        if not self._is_ordered:
            return NOTHING_FOUND
        asked = place, known, self._changes
        if self._last[0] != asked:  # the head of the queue is asked for at every step
            self._last = asked, self._find(place, known)
        return self._last[1]

    def is_lost_from_end(self, place: int, found: Found) -> bool:
        """Whether of what a waiting request finds the last block is always the next one taken: with
        each block that is taken it loses one at most, and fits no sooner.
        """
        users, entries = self._users, self._list
        freed = [inf if users[block] else entries[block] for block in found.prefix]
        if found.own:
            freed.append(self._freed[place])
        return freed == sorted(freed, reverse=True)

    def wanted(self, found: Found, tokens: int) -> int:
        """Free blocks that so many tokens take: all but what others hold already."""
        held = sum([self._users[block] > 0 for block in found.prefix]) if found.prefix else 0
        return -(-tokens // self._size) - held

    def admit(self, place: int, found: Found, tokens: int) -> int:
        """Give a waiting request the blocks of so many tokens, those found included: how many."""
        if not self._is_ordered:
            return self.extend(place, 0, tokens)
        users, entries = self._users, self._list
        for block in found.prefix:
            if not users[block]:
                del entries[block]
                self.free -= 1
            users[block] += 1
        if self._list.pop((OWN, place), 0) != found.own:
            raise NotPlainError  # what is left could be found beside what is written again
        self.free -= found.own
        if place in self._prefixes:
            self._tables[place] = list(found.prefix)
        return self.extend(place, found.size, tokens)

    def extend(self, place: int, held: int, tokens: int) -> int:
        """Make the blocks of a request enough for so many tokens, all of them known: how many."""
        blocks = -(-tokens // self._size)
        self.take(blocks - held)
        if place in self._prefixes:
            self._write(place, held, blocks, tokens // self._size)
        return blocks

    def take(self, blocks: int) -> None:
        """The next free blocks; what they held is forgotten."""
        self.free -= blocks
        entries = self._list
        while blocks and self._is_ordered:
            entry, there = entries.popitem(last=False)
            if isinstance(entry, int):
                self._forget(entry)
                blocks -= 1
            elif there > blocks:
                entries[entry] = there - blocks
                entries.move_to_end(entry, last=False)
                self._changes += entry[0] == OWN
                return
            else:
                blocks -= there
                self._changes += 1

    def release(self, place: int, tokens: int, hashed: int, *, waits: bool) -> None:
        """Take back the blocks of so many tokens, of which `hashed` are in blocks with a hash; one
        that `waits` will look for them.
        """
        whole, held = hashed // self._size, -(-tokens // self._size)
        if not self._is_ordered:
            if not (waits and whole and self._keeps_content):
                self.free += held
                return
            self._order()
        self._changes += 1
        table = self._tables.pop(place, [])
        own = max(whole - len(table), 0)
        self._put(held - whole, at_front=self._unhashed_first)
        if waits and own:
            self._list[OWN, place] = own
            self._freed[place] = self._changes
        else:
            self._put(own)
        self.free += held - whole + own
        self._leave(table, whole)
        if not waits:
            self._prefixes.pop(place, None)

    def _order(self) -> None:
        """Keep the order from now on: nothing is found in the blocks that are free."""
        if not self._is_ordered:
            self._is_ordered, self._list[NOTHING, 0] = True, self.free

    def _find(self, place: int, known: int) -> Found:
        most = (known - 1) // self._size
        content, shared = self._prefixes.get(place, (0, 0))
        prefix: list[int] = []
        for each in range(content, content + min(shared, most)):
            block = self._holder.get(each)
            if block is None:
                return Found(tuple(prefix), 0)
            prefix.append(block)
        own = self._list.get((OWN, place), 0)
        return Found(tuple(prefix), min(own, most - len(prefix)))

    def _write(self, place: int, held: int, blocks: int, whole: int) -> None:
        """A request holds more blocks, of which the first `whole` get a hash."""
        content, shared = self._prefixes[place]
        table, users = self._tables[place], self._users
        more = min(blocks, shared) - len(table)
        if more > 0:
            fresh = range(self._last_number + 1, self._last_number + more + 1)
            self._last_number += more
            users.update(dict.fromkeys(fresh, 1))
            table += fresh
        contents, holder = self._content, self._holder
        first = max(held - 1, 0)
        for each, block in enumerate(table[first:whole], content + first):
            if block in contents:
                continue
            contents[block] = each
            if each not in holder:
                holder[each] = block
            else:
                self._younger.setdefault(each, []).append(block)
        self._changes += 1

    def _leave(self, table: list[int], whole: int) -> None:
        """One user less of the blocks of a prefix, of which the first `whole` have a hash."""
        users, entries = self._users, self._list
        for block in reversed(table[:whole]):
            users[block] -= 1
            if not users[block]:
                self._changes += 1
                entries[block] = self._changes
                self.free += 1
        for block in table[whole:]:
            del users[block]

    def _forget(self, block: int) -> None:
        """A block of a prefix is taken for something else."""
        del self._users[block]
        self._changes += 1
        content = self._content.pop(block)
        younger = self._younger.get(content)
        if not younger:
            del self._holder[content]
        elif self._holder[content] == block:
            self._holder[content] = younger.pop(0)
        else:
            younger.remove(block)

    def _put(self, blocks: int, *, at_front: bool = False) -> None:
        """Blocks in which nothing is found come back."""
        if not blocks:
            return
        neighbour = next(iter(self._list) if at_front else reversed(self._list), None)
        if isinstance(neighbour, tuple) and neighbour[0] == NOTHING:
            self._list[neighbour] += blocks
            return
        self._last_number += 1
        self._list[NOTHING, self._last_number] = blocks
        if at_front:
            self._list.move_to_end((NOTHING, self._last_number), last=False)
