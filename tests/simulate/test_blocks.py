"""What a waiting request finds on the free list, worked by hand: blocks of four tokens."""

from __future__ import annotations

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.blocks import NOTHING_FOUND, Blocks
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import NotPlainError


def blocks(count: int = 10, release: str = "0.18.0", *, caching: bool = True) -> Blocks:
    config = EngineConfig(
        max_num_seqs=4,
        max_num_batched_tokens=64,
        max_model_len=64,
        num_gpu_blocks=count + 1,
        block_size=4,
        enable_prefix_caching=caching,
    )
    return Blocks(config, behaviour_of(Release(release)))


def test_a_victim_finds_its_first_blocks_until_they_are_taken_from_the_last_on():
    pool = blocks()
    assert pool.admit(7, NOTHING_FOUND, 18) == 5
    pool.take(5)
    pool.release(7, 18, 18, waits=True)  # four whole blocks, and one with two tokens
    assert (pool.free, pool.find(7, 19)) == (5, (0, 0, 4))
    pool.take(2)  # the one that is not whole, and the fourth
    assert pool.find(7, 19) == (0, 0, 3)
    assert pool.find(7, 9) == (0, 0, 2)  # never the block of the last token
    with pytest.raises(NotPlainError):
        pool.admit(7, pool.find(7, 9), 9)


@pytest.mark.parametrize(("release", "found"), [("0.18.0", 1), ("0.24.0", 2)])
def test_blocks_without_a_hash_are_taken_first_since_0_24(release, found):
    pool = blocks(5, release)
    for place, tokens in ((0, 8), (1, 10)):
        pool.admit(place, NOTHING_FOUND, tokens)
    pool.release(0, 8, 8, waits=True)
    pool.release(1, 10, 10, waits=False)
    pool.take(1)
    assert pool.find(0, 9).own == found


def test_without_caching_nothing_is_found():
    pool = blocks(caching=False)
    pool.arrive(0, 3, 8)
    pool.admit(0, NOTHING_FOUND, 12)
    pool.release(0, 12, 12, waits=True)
    assert (pool.free, pool.find(0, 13)) == (10, NOTHING_FOUND)


def test_a_prefix_is_shared_while_it_is_held_and_found_until_it_is_taken():
    pool = blocks()
    for place in range(3):
        pool.arrive(place, 3, 9)  # two whole blocks of the prefix
        assert pool.admit(place, pool.find(place, 12), 12) == 3
    assert pool.free == 10 - 3 - 1 - 1
    assert pool.wanted(pool.find(0, 12), 12) == 1
    for place in range(3):
        pool.release(place, 12, 12, waits=False)
    assert pool.free == 10
    pool.arrive(3, 3, 9)
    found = pool.find(3, 12)
    assert (found.prefix, pool.wanted(found, 12)) == (2, 3)  # they are free blocks too
    assert pool.is_lost_from_end(3, found)
    pool.take(9)  # all but the first block of the prefix
    assert pool.find(3, 12).prefix == 1
    pool.take(1)
    assert pool.find(3, 12) == NOTHING_FOUND
