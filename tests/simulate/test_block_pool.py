"""Physical blocks: who holds them, in which order they are taken, what is found in them."""

from __future__ import annotations

from scheduler_reader.simulate.block_pool import NULL_BLOCK, BlockPool


def test_of_blocks_with_one_content_the_first_is_found() -> None:
    pool = BlockPool(6, num_groups=2)
    first, second, other = pool.take(3)
    pool.index(first, 0, key=7)
    pool.index(second, 0, key=7)
    pool.index(other, 1, key=7)
    assert (pool.find(0, 7), pool.find(1, 7), pool.find(0, 8)) == (first, other, None)
    pool.release([first], unhashed_first=False)
    assert pool.find(0, 7) == first  # freed, and still there
    assert pool.take(2) == [4, 5]
    assert pool.take(1) == [first]  # taken again: forgotten
    assert pool.find(0, 7) == second


def test_a_shared_block_is_free_when_the_last_has_released_it() -> None:
    pool = BlockPool(4, num_groups=1)
    (block,) = pool.take(1)
    pool.share([NULL_BLOCK, block])
    pool.release([block], unhashed_first=False)
    assert (pool.free, pool.is_free(block)) == (2, False)
    pool.release([NULL_BLOCK, block], unhashed_first=False)
    assert (pool.free, pool.is_free(block)) == (3, True)
    pool.share([block])  # off the free list again
    assert (pool.free, pool.is_free(block)) == (2, False)
    assert not pool.is_free(NULL_BLOCK)


def test_a_watched_content_is_touched_when_it_comes_and_when_it_goes() -> None:
    pool = BlockPool(4, num_groups=1)
    assert pool.is_touched
    pool.watch([7, 8])
    first, second = pool.take(2)
    pool.index(first, 0, key=9)
    assert not pool.is_touched
    pool.index(second, 0, key=8)
    assert pool.is_touched
    pool.watch([8])
    assert not pool.is_touched
    pool.release([first, second], unhashed_first=False)
    pool.take(2)  # the third block and the first
    assert not pool.is_touched
    pool.take(1)
    assert pool.is_touched


def test_blocks_without_content_are_taken_first_where_the_release_has_it_so() -> None:
    for unhashed_first, order in ((True, [2, 3, 1]), (False, [1, 2, 3])):
        pool = BlockPool(4, num_groups=1)
        blocks = pool.take(3)
        pool.index(blocks[0], 0, key=1)
        pool.release(blocks, unhashed_first)
        assert pool.take(3) == order


def test_a_pool_begins_with_all_blocks_free_but_the_null_block() -> None:
    pool = BlockPool(4, num_groups=1)
    assert [pool.is_free(block) for block in range(4)] == [False, True, True, True]
    assert (pool.free, pool.take(3), pool.free) == (3, [1, 2, 3], 0)


def test_a_content_noted_twice_is_forgotten_at_once() -> None:
    pool = BlockPool(2, num_groups=1)
    (block,) = pool.take(1)
    pool.index(block, 0, key=70_000)
    pool.index(block, 0, key=int("70000"))  # equal, not the same object
    pool.release([block], unhashed_first=False)
    pool.take(1)
    assert pool.find(0, 70_000) is None
