"""Blocks of one layer for a request, and how many layers share a group, at their edges."""

from __future__ import annotations

from typing import get_args

import pytest

from scheduler_reader.capacity.kv_layers import (
    KvLayer,
    KvLayoutError,
    cut_groups,
    layers_per_group,
    promoted,
    with_one_page,
)
from scheduler_reader.knowledge.models import LayerKind
from scheduler_reader.knowledge.versions import Release

KIB = 1024
FULL = KvLayer("full", 16, KIB)
NEWEST = Release("0.33.0")


@pytest.mark.parametrize(
    ("layer", "blocks"),
    [
        (FULL._replace(shards=2), 4),  # 101 tokens, 51 of them on a rank
        (FULL._replace(shards=2, block_size=50), 2),
        (FULL._replace(shards=2, block_size=51), 1),
        (KvLayer("sliding", 16, KIB, window=17), 2),  # 16 other tokens: one block, and one more
        (KvLayer("sliding", 16, KIB, window=18), 3),
        (KvLayer("sliding", 16, KIB, window=1000), 8),  # all 101
        (KvLayer("chunked", 16, KIB, window=16), 1),
        (KvLayer("chunked", 16, KIB, window=17), 2),
        (KvLayer("chunked", 16, KIB, window=1000), 7),
        (KvLayer("mamba", 16, KIB), 7),
        (KvLayer("mamba", 16, KIB, state_blocks=2), 2),
    ],
)
def test_blocks_of_101_tokens(layer: KvLayer, blocks: int) -> None:
    assert layer.blocks(101) == blocks


@pytest.mark.parametrize(
    ("counts", "release", "size"),
    [
        ((4, 6), "0.18.0", 4),  # from half as many again on they are too many to pad
        ((5, 7), "0.18.0", 7),
        ((10, 14), "0.18.0", 14),
        ((4, 5), "0.12.0", 4),
        ((5, 6), "0.12.0", 6),
        ((5, 6), "0.11.2", 5),
    ],
)
def test_layers_of_a_group(counts: tuple[int, ...], release: str, size: int) -> None:
    assert layers_per_group(counts, Release(release)) == size


@pytest.mark.parametrize("kind", ["sliding", "chunked"])
def test_a_promoted_layer_shares_tokens_as_full_ones_do(kind: LayerKind) -> None:
    assert kind in get_args(LayerKind)
    window = KvLayer(kind, 16, KIB, window=128, in_flight_tokens=64)
    full = FULL._replace(shards=8)
    assert promoted({0: window, 1: full}) == {0: full, 1: full}
    assert promoted({0: window}) == {0: window}


def test_a_page_that_is_no_multiple_is_named_with_its_bytes_a_token() -> None:
    odd = KvLayer("sliding", 16, 1000, window=128)
    with pytest.raises(KvLayoutError, match=r"layers of 62\.5 and 64 bytes a token"):
        with_one_page({0: FULL, 1: odd}, Release("0.18.0"))


def test_a_model_without_attention_has_no_groups_from_0_10_on() -> None:
    assert cut_groups({}, Release("0.10.0")) == ()
    with pytest.raises(KvLayoutError, match="no KV layout for models without attention"):
        cut_groups({}, Release("0.9.2"))
