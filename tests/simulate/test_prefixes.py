"""Blocks of a shared prefix: who holds them, and in which order they are forgotten."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler_reader.simulate.prefixes import Prefixes

CONTENT = 1 << 32  # the first content of a group


def held_by(prefixes: Prefixes, place: int, blocks: int) -> None:
    """A request finds what there is of so many blocks, and computes the rest."""
    found = prefixes.find(CONTENT, blocks).blocks
    list(prefixes.hold(place, CONTENT, found))
    prefixes.write(place, CONTENT + found, CONTENT + blocks)


def test_what_nobody_computed_is_not_found() -> None:
    prefixes = Prefixes()
    assert prefixes.find(CONTENT, 5) == (0, 0)
    held_by(prefixes, 0, 3)
    assert prefixes.find(CONTENT, 5) == (3, 3)
    assert prefixes.find(CONTENT, 2) == (2, 2)
    assert prefixes.find(2 * CONTENT, 5) == (0, 0)


def test_blocks_come_back_when_the_last_user_leaves() -> None:
    prefixes = Prefixes()
    held_by(prefixes, 0, 3)
    held_by(prefixes, 1, 5)
    assert prefixes.leave(1, CONTENT, 5, number=1) == 2
    assert prefixes.find(CONTENT, 5) == (5, 3)
    assert prefixes.leave(0, CONTENT, 3, number=2) == 3
    assert prefixes.find(CONTENT, 5) == (5, 0)


def test_the_last_block_of_a_prefix_is_forgotten_first() -> None:
    prefixes = Prefixes()
    held_by(prefixes, 0, 5)
    prefixes.leave(0, CONTENT, 5, number=1)
    prefixes.take(1, 2)
    assert prefixes.find(CONTENT, 5).blocks == 3
    assert list(prefixes.hold(1, CONTENT, 2)) == [(1, 2)]
    prefixes.take(1, 1)
    assert prefixes.find(CONTENT, 5) == (2, 2)


def test_the_copy_that_is_left_is_found() -> None:
    prefixes = Prefixes()
    prefixes.write(0, CONTENT, CONTENT + 4)
    prefixes.write(1, CONTENT, CONTENT + 3)  # computed at the same time
    prefixes.leave(0, CONTENT, 4, number=1)
    assert prefixes.find(CONTENT, 4) == (4, 0)  # the oldest copy, which nobody holds
    prefixes.take(1, 3)
    assert prefixes.find(CONTENT, 4) == (3, 2)  # of the first block, the oldest is still there
    prefixes.take(1, 1)
    assert prefixes.find(CONTENT, 4) == (3, 3)


def test_the_last_block_is_the_next_one_taken_unless_copies_came_back_in_another_order() -> None:
    prefixes = Prefixes()
    held_by(prefixes, 0, 3)
    held_by(prefixes, 1, 5)
    prefixes.leave(1, CONTENT, 5, number=1)
    prefixes.leave(0, CONTENT, 3, number=3)
    assert prefixes.is_lost_from_end(CONTENT, 5, after=0)
    assert not prefixes.is_lost_from_end(CONTENT, 5, after=2)
    prefixes.write(0, 2 * CONTENT, 2 * CONTENT + 3)
    prefixes.write(1, 2 * CONTENT, 2 * CONTENT + 5)  # computed at the same time
    prefixes.leave(0, 2 * CONTENT, 3, number=4)
    prefixes.leave(1, 2 * CONTENT, 5, number=5)
    assert prefixes.is_lost_from_end(2 * CONTENT, 3, after=0)
    assert not prefixes.is_lost_from_end(2 * CONTENT, 5, after=0)


class BlockByBlock:
    """The same with a record a block."""

    def __init__(self) -> None:
        self.copies: dict[int, list[dict[str, Any]]] = {}
        self.returned: dict[int, list[tuple[int, dict[str, Any]]]] = {}

    def find(self, most: int) -> tuple[int, int]:
        found = in_use = 0
        while found < most and self.copies.get(found):
            in_use += bool(self.copies[found][0]["users"])
            found += 1
        return found, in_use

    def hold(self, place: int, blocks: int) -> dict[int, int]:
        taken: dict[int, int] = {}
        for at in range(blocks):
            copy = self.copies[at][0]
            if not copy["users"]:
                number = copy["returned"]
                taken[number] = taken.get(number, 0) + 1
                self.returned[number].remove((at, copy))
            copy["users"].add(place)
        return taken

    def write(self, place: int, first: int, end: int) -> None:
        for at in range(first, end):
            self.copies.setdefault(at, []).append({"users": {place}, "returned": 0})

    def leave(self, place: int, blocks: int, number: int) -> int:
        row = self.returned[number] = []
        for at in reversed(range(blocks)):
            copy = next(one for one in self.copies[at] if place in one["users"])
            copy["users"].remove(place)
            if not copy["users"]:
                copy["returned"] = number
                row.append((at, copy))
        return len(row)

    def take(self, number: int, blocks: int) -> None:
        for at, copy in self.returned[number][:blocks]:
            self.copies[at].remove(copy)
        del self.returned[number][:blocks]


@pytest.mark.parametrize("seed", range(40))
def test_stretches_are_the_blocks_one_by_one(seed: int) -> None:
    pick, ours, theirs = Random(seed), Prefixes(), BlockByBlock()
    holders: dict[int, int] = {}
    for number in range(1, 200):
        most = pick.randint(1, 24)
        assert ours.find(CONTENT, most) == theirs.find(most)
        move = pick.random()
        if move < 0.5:
            found = pick.choice([theirs.find(most)[0], 0])  # 0: others compute it at the same time
            taken: dict[int, int] = {}
            for returned, blocks in ours.hold(number, CONTENT, found):
                taken[returned] = taken.get(returned, 0) + blocks
            assert taken == theirs.hold(number, found)
            ours.write(number, CONTENT + found, CONTENT + most)
            theirs.write(number, found, most)
            holders[number] = most
        elif move < 0.8 and holders:
            place = pick.choice(sorted(holders))
            blocks = holders.pop(place)
            assert ours.leave(place, CONTENT, blocks, number) == theirs.leave(place, blocks, number)
        else:
            for returned, row in theirs.returned.items():
                if row and pick.random() < 0.3:
                    blocks = pick.randint(1, len(row))
                    ours.take(returned, blocks)
                    theirs.take(returned, blocks)
