"""KV waste: the worked example, small lengths by hand, and properties."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.capacity.fragmentation import fragmentation
from scheduler_reader.simulate.lengths import draw
from scheduler_reader.workload import Lengths


def test_the_worked_example() -> None:
    """1,000 requests of 1,500 ± 600 tokens: 82 % of 8,192-token slots stay empty, 0.5 % of blocks."""
    law = Lengths(normal={"mean": 1500, "std": 600})
    found = fragmentation(islice(draw(law, Random(0)), 1000), 8192, 16)
    assert found.reserved_tokens == 8_192_000
    assert found.mean_tokens == pytest.approx(1500, rel=0.03)
    assert found.reserved_waste == pytest.approx(0.817, abs=0.006)
    assert found.wasted_per_request == pytest.approx(7.5, abs=0.5)
    assert found.block_waste == pytest.approx(7.5 / 1500, abs=0.0005)
    assert found.gain == pytest.approx(8192 / 1507.5, rel=0.03)


def test_slots_by_hand() -> None:
    """Lengths 1, 16, 17 and 40 take 1, 1, 2 and 2 blocks of 16; the last is cut at 32."""
    found = fragmentation([1, 16, 17, 40], 32, 16)
    assert (found.held_tokens, found.block_tokens, found.cut_requests) == (66, 96, 1)
    assert found.reserved_waste == 1 - 66 / 128
    assert found.wasted_per_request == 30 / 4
    assert (found.mean_tokens, found.gain) == (66 / 4, 128 / 96)
    assert found.block_waste == (30 / 4) / (66 / 4)
    assert found.expected_waste == (15 / 2) / (66 / 4)


def test_a_single_token_leaves_the_rest_of_its_block_empty() -> None:
    assert fragmentation([1], 32, 16).wasted_per_request == 15


@pytest.mark.parametrize(("block_size", "tokens"), [(16, 187.5), (32, 387.5), (1, 0)])
def test_four_per_cent_holds_at_one_length_only(block_size: int, tokens: float) -> None:
    assert fragmentation([100], 8192, block_size).paper_waste_length == tokens


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=50), st.integers(1, 300))
def test_a_request_wastes_less_than_a_block(lengths: list[int], block_size: int) -> None:
    found = fragmentation(lengths, 8192, block_size)
    assert 0 <= found.wasted_per_request <= block_size - 1


@given(st.integers(1, 64), st.integers(1, 20))
def test_the_formula_is_exact_where_every_end_is_equally_likely(size: int, blocks: int) -> None:
    found = fragmentation(range(1, size * blocks + 1), 10**6, size)
    assert found.wasted_per_request == pytest.approx(found.expected_per_request)
