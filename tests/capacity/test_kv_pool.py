"""The block pool as vLLM plans it: each kind of layer and each era of the checks, worked by hand.

Pages are 1,024 bytes and blocks 16 tokens unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scheduler_reader.capacity.kv_layers import KvLayer, KvLayoutError, cut_groups
from scheduler_reader.capacity.kv_pool import KvPool, worker_layouts
from scheduler_reader.knowledge.versions import Release

KIB = 1024
FULL = KvLayer("full", 16, KIB)
WINDOW = KvLayer("sliding", 16, KIB, window=128, in_flight_tokens=512)  # 40 + 1 blocks
CHUNK = KvLayer("chunked", 16, KIB, window=256, in_flight_tokens=512)  # 48 blocks
STATE = KvLayer("linear", 16, KIB, state_blocks=1)
NEWEST, RELEASE = Release("0.33.0"), Release("0.28.0")


def numbered(*parts: tuple[int, KvLayer], start: int = 0) -> dict[int, KvLayer]:
    flat = [layer for count, layer in parts for _ in range(count)]
    return dict(enumerate(flat, start))


def pool(
    *workers: Mapping[int, KvLayer],
    blocks: float = 1000,
    release: Release = RELEASE,
    keeps_windows: bool = True,
) -> KvPool:
    """A pool with memory for `blocks` of the largest group on every worker."""
    cut = worker_layouts(workers, release, keeps_windows=keeps_windows)
    size = max(layout.block_bytes for layout in cut)
    return KvPool(release, cut, (blocks * size,) * len(workers))


def group_sizes(layers: Mapping[int, KvLayer], release: Release = RELEASE) -> list[int]:
    return [len(group.layers) for group in cut_groups(layers, release)]


def test_one_kind_is_one_group() -> None:
    found = pool(numbered((32, FULL)))
    assert found.num_blocks == 1000
    assert found.layouts[0].block_bytes == 32 * KIB
    assert found.concurrency(8192) == 1000 / 512
    assert found.printed_tokens(8192) == 16000


def test_windows_and_full_layers_share_blocks_in_groups_of_the_rarer_kind() -> None:
    """5 full layers and 21 windows: groups of 5, 5, 4, 4, 4 and 4 from 0.11.0 on."""
    layers = numbered((5, FULL), (21, WINDOW))
    assert group_sizes(layers) == [5, 5, 4, 4, 4, 4]
    assert group_sizes(layers, Release("0.10.2")) == [5, 5, 5, 5, 5, 1]
    found = pool(layers)
    assert found.layouts[0].block_bytes == 5 * KIB
    assert found.concurrency(32768) == 1000 / (2048 + 5 * 41)


@pytest.mark.parametrize(
    ("release", "sizes"), [("0.11.2", [7, 6, 12]), ("0.12.0", [13, 12]), ("0.33.0", [13, 12])]
)
def test_kinds_that_are_nearly_as_many_are_padded(release: str, sizes: list[int]) -> None:
    """An EAGLE head makes 13 full layers beside 12 windows: 13 and 12 since 0.12.0."""
    assert group_sizes(numbered((13, FULL), (12, WINDOW)), Release(release)) == sizes


def test_chunked_layers_hold_a_chunk_and_the_budget() -> None:
    found = pool(numbered((12, FULL), (36, CHUNK)))
    assert len(found.layouts[0].groups) == 4
    assert found.concurrency(131072) == 1000 / (8192 + 3 * 48)


def test_with_the_hybrid_manager_off_windows_keep_everything() -> None:
    found = pool(numbered((12, FULL), (12, WINDOW)), keeps_windows=False)
    assert found.layouts[0].block_bytes == 24 * KIB
    assert found.concurrency(131072) == 1000 / 8192


def test_states_cannot_be_promoted() -> None:
    with pytest.raises(KvLayoutError, match="only with the hybrid KV cache manager"):
        pool(numbered((12, FULL), (36, STATE)), keeps_windows=False)


def test_a_state_takes_one_block_a_request_in_each_group() -> None:
    found = pool(numbered((12, FULL), (36, STATE)))
    assert found.concurrency(16384) == 1000 / (1024 + 3)


def test_head_sizes_may_differ_in_one_group_since_0_11() -> None:
    layers = numbered((24, FULL), (24, FULL._replace(page_bytes=2 * KIB)))
    found = pool(layers)
    assert found.layouts[0].block_bytes == 24 * 3 * KIB
    assert found.concurrency(8192) == 1000 / 512
    with pytest.raises(KvLayoutError, match="64 and 128 bytes a token"):
        pool(layers, release=Release("0.10.2"))


def test_smaller_pages_get_longer_blocks_since_0_12() -> None:
    layers = numbered((6, FULL), (6, WINDOW._replace(page_bytes=2 * KIB)))
    found = pool(layers)
    assert [group.block_size for group in found.layouts[0].groups] == [32, 16]
    assert found.concurrency(8192) == 1000 / (256 + 41)
    with pytest.raises(KvLayoutError):
        pool(layers, release=Release("0.11.2"))


def test_pages_that_do_not_divide_are_padded_since_0_24_but_never_latents() -> None:
    layers = numbered((6, FULL), (6, WINDOW._replace(page_bytes=1.5 * KIB)))
    assert pool(layers, release=Release("0.24.0")).layouts[0].block_bytes == 6 * 1.5 * KIB
    with pytest.raises(KvLayoutError):
        pool(layers, release=Release("0.23.0"))
    latent = numbered(
        (6, FULL._replace(is_latent=True)), (6, WINDOW._replace(page_bytes=1.5 * KIB))
    )
    with pytest.raises(KvLayoutError):
        pool(latent)


def test_context_parallel_ranks_share_a_request_and_print_all_its_tokens() -> None:
    sharded = FULL._replace(shards=8)
    found = pool(numbered((61, sharded)), release=Release("0.18.0"))
    assert found.concurrency(8192) == 1000 / 64
    assert found.printed_tokens(8192) == 1000 * 16 * 8


def test_the_worker_with_the_fewest_blocks_decides() -> None:
    """Stages of 17 and 15 layers with equal memory: the first holds fewer blocks."""
    found = pool(numbered((17, FULL)), numbered((15, FULL), start=17), blocks=900)
    assert found.num_blocks == 900
    assert found.worker_blocks(1) == 900 * 17 // 15
    assert len(found.tightest.layers) == 17


def test_groups_are_cut_over_all_stages_together() -> None:
    """Two full and four window layers on two stages: each stage has one layer of each group."""
    stages = [numbered((1, FULL), (2, WINDOW), start=start) for start in (0, 3)]
    found = pool(*stages)
    assert [[len(g.layers) for g in layout.groups] for layout in found.layouts] == [[1, 1, 1]] * 2
    assert found.layouts[0].block_bytes == KIB


@pytest.mark.parametrize(
    ("release", "blocks"),
    [
        ("0.13.0", 5 * 8192 + 21 * 41),  # pages of all layers, in units of one layer's page
        ("0.18.0", 5 * 8192),  # the first group stands for all
        ("0.20.0", 5 * (8192 + 5 * 41)),  # all six groups
    ],
)
def test_what_the_one_request_check_adds_up(release: str, blocks: int) -> None:
    found = pool(numbered((5, FULL), (21, WINDOW)), release=Release(release))
    assert found.tightest_check(131072)[0] == blocks * KIB


def test_a_window_in_front_lets_any_length_start_from_0_14_to_0_18() -> None:
    """The group of the first layer, a window, stands for all of them."""
    layers = numbered((12, WINDOW), (12, FULL))
    unchecked = pool(layers, release=Release("0.18.0"))
    assert unchecked.fits(10_000_000)
    assert unchecked.longest_held(10_000_000) == (1000 - 41) * 16  # what the blocks really hold
    assert not pool(layers, release=Release("0.19.0")).fits(10_000_000)


def test_0_14_to_0_16_compare_all_stages_with_the_memory_of_one() -> None:
    stages = numbered((16, FULL)), numbered((16, FULL), start=16)
    assert pool(*stages, blocks=512, release=Release("0.13.0")).fits(8192)
    assert not pool(*stages, blocks=512, release=Release("0.16.0")).fits(8192)
    assert pool(*stages, blocks=512, release=Release("0.17.0")).fits(8192)


def test_the_null_block_is_spared_since_0_29() -> None:
    assert pool(numbered((32, FULL)), blocks=512).longest(100_000) == 8192
    assert pool(numbered((32, FULL)), blocks=512, release=NEWEST).longest(100_000) == 8176


def test_an_override_counts_for_blocks_always_and_for_the_check_since_0_20_1() -> None:
    for version, fits in (("0.20.0", True), ("0.20.1", False)):
        found = pool(numbered((32, FULL)), release=Release(version))._replace(blocks_override=100)
        assert (found.num_blocks, found.fits(8192)) == (100, fits)


def test_no_memory_holds_no_length() -> None:
    found = pool(numbered((32, FULL)), blocks=-1)
    assert (found.has_memory(), found.num_blocks, found.longest(8192)) == (False, 0, 0)


def test_a_model_without_attention_has_the_null_block_only() -> None:
    found = KvPool(RELEASE, worker_layouts([{}], RELEASE), (1e9,))
    assert found.num_blocks == 1


def test_the_check_with_the_smallest_margin_is_told() -> None:
    """Equal memory; the second stage's 17 layers need more of it than the first one's 15."""
    found = pool(numbered((15, FULL)), numbered((17, FULL), start=15), blocks=600)
    assert found.tightest_check(8192) == (17 * 512 * KIB, 600 * 17 * KIB)


@pytest.mark.parametrize(("release", "groups"), [("0.10.2", 1), ("0.11.0", 2)])
def test_a_stage_has_the_groups_of_its_own_layers_before_0_11(release: str, groups: int) -> None:
    """Full layers on the first stage, windows on the second: a table for each, or for both."""
    found = pool(numbered((2, FULL)), numbered((2, WINDOW), start=2), release=Release(release))
    assert [len(layout.groups) for layout in found.layouts] == [groups, groups]
    assert found.printed_tokens(8192) == 1000 // groups * 16
    assert found.concurrency(16384) == 1000 / (1024 if groups == 1 else 1024 + 41)


@pytest.mark.parametrize(
    ("release", "tokens", "concurrency"),
    [
        ("0.9.0", 16_000, 16_000 / 8200),  # printed tokens over the length
        ("0.9.1", 16_000, 1000 / 513),  # blocks over a request's
        ("0.20.1", 15_984, 1000 / 513),  # 1000 / 513 x 8,200
    ],
)
def test_what_is_printed_of_a_length_that_fills_no_whole_block(
    release: str, tokens: int, concurrency: float
) -> None:
    found = pool(numbered((32, FULL)), release=Release(release))
    assert (found.printed_tokens(8200), found.concurrency(8200)) == (tokens, concurrency)


@pytest.mark.parametrize(("release", "size"), [("0.10.2", 16), ("0.11.0", 64)])
def test_one_group_of_longer_blocks_is_printed_as_configured_before_0_11(
    release: str, size: int
) -> None:
    layers = numbered((32, FULL._replace(block_size=64)))
    assert pool(layers, release=Release(release)).printed_tokens(8192) == 1000 * size
    two = numbered((1, FULL._replace(block_size=64)), (1, WINDOW._replace(block_size=64)))
    assert pool(two, release=Release(release)).printed_tokens(8192) == 500 * 64


def test_an_override_of_few_blocks_is_the_longest_request() -> None:
    found = pool(numbered((32, FULL)), release=RELEASE)._replace(blocks_override=7)
    assert [found.worker_blocks(0), found.num_blocks, found.longest(8192)] == [7, 7, 112]
    assert found._replace(blocks_override=0).num_blocks == 0


@pytest.mark.parametrize(("room", "has_memory"), [(0.0, False), (0.5, True), (-0.5, False)])
def test_any_memory_above_none_counts_as_some(room: float, has_memory: bool) -> None:
    one = pool(numbered((32, FULL)))._replace(memory=(room,))
    assert (one.has_memory(), one.num_blocks) == (has_memory, 0)


def test_the_spared_null_block_is_a_whole_one() -> None:
    assert pool(numbered((32, FULL)), blocks=512.5).longest(100_000) == 512 * 16
    assert pool(numbered((32, FULL)), blocks=512.5, release=NEWEST).longest(100_000) == 511 * 16


def test_a_state_without_its_block_holds_no_length() -> None:
    assert pool(numbered((1, STATE)), blocks=0.5).longest(8192) == 0


def test_the_smallest_margin_is_a_difference_of_bytes() -> None:
    """The first stage lacks 1 of 2 MiB, the second 2 of 8.5 MiB: less of it, but more bytes."""
    stages = pool(numbered((4, FULL)), numbered((17, FULL), start=4))
    found = stages._replace(memory=(1024 * KIB, 6656 * KIB))
    assert found.tightest_check(8192) == (8704 * KIB, 6656 * KIB)


def test_a_token_takes_its_share_of_a_page_that_it_does_not_divide() -> None:
    layers = numbered(
        (2, FULL._replace(page_bytes=1000.0)), (3, WINDOW._replace(page_bytes=1000.0))
    )
    assert pool(layers).layouts[0].bytes_per_token == 5 * 1000 / 16
    assert pool(numbered((1, FULL), (1, STATE))).layouts[0].bytes_per_token == KIB / 16


def test_one_worker_is_checked_alone_where_all_stages_count_as_one() -> None:
    assert pool(numbered((32, FULL)), blocks=512, release=Release("0.16.0")).fits(8192)
    assert not pool(numbered((32, FULL)), blocks=511, release=Release("0.16.0")).fits(8192)


def test_groups_and_block_size_that_are_printed_are_those_of_the_first_worker() -> None:
    long = FULL._replace(block_size=64)
    stages = numbered((2, FULL)), numbered((2, FULL), (2, WINDOW), start=2)
    assert pool(*stages, release=Release("0.10.2")).printed_tokens(8192) == 1000 * 16
    assert pool(*reversed(stages), release=Release("0.10.2")).printed_tokens(8192) == 500 * 16
    two = numbered((1, long), (1, long._replace(window=128, kind="sliding", in_flight_tokens=512)))
    stages = two, numbered((1, FULL), (1, WINDOW), start=2)
    assert pool(*stages, release=Release("0.10.2")).printed_tokens(8192) == 500 * 64


def test_the_first_worker_says_how_many_blocks_a_request_takes() -> None:
    """Layers of one kind each, where groups are cut by worker: full in front, a window behind."""
    front, behind = numbered((2, FULL)), numbered((2, WINDOW), start=2)
    cut = Release("0.10.2")
    assert pool(front, behind, release=cut).printed_tokens(16384) == 1000 * 16
    assert pool(front, behind, release=cut).concurrency(16384) == 1000 / 1024
    assert pool(behind, front, release=cut).concurrency(16384) == 1000 / 41
