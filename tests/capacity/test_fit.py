"""Does it start: the headline case by hand, refusals that name the short component, properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from hypothesis import given, settings
from hypothesis import strategies as st
from known_models import LLAMA_8B, LLAMA_70B, LLAMA_70B_FP8

from scheduler_reader.capacity.budget import block_pool, stage_budgets, stage_weights
from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.overheads import captured_graphs
from scheduler_reader.capacity.remedies import find_remedies, safe_length
from scheduler_reader.capacity.shortage import explain
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts


def look(model: ModelFacts = LLAMA_8B, **changes: Any) -> Outlook:
    return outlook(inputs_of(model, **changes))


def best_tokens(found: Outlook) -> int:
    assert found.pool is not None
    return found.pool.best.num_blocks * found.pool.layout.block_size


def test_70b_fp8_on_one_h100_does_not_start_with_its_own_length() -> None:
    """40 GiB for 131,072 tokens of 320 KiB; 71.3 GiB of budget less 67.7 GiB of weights."""
    found = look(LLAMA_70B_FP8)
    assert found.starts is False
    assert "131,072 needs 40.00 GiB" in explain(found)
    assert found.budgets[0].weights / GIB == pytest.approx(67.7, abs=0.05)
    remedies = {remedy.setting: remedy for remedy in find_remedies(found)}
    assert 1000 < found.surely_longest < 2048 < found.longest < 5000
    assert remedies["tensor_parallel_size"].changes == {"tensor_parallel_size": 2}
    assert 10_000 < (remedies["gpu_memory_utilization"].max_model_len or 0) < 20_000


@pytest.mark.parametrize(
    ("utilization", "kv_dtype", "about"),
    [
        (0.90, "bfloat16", 3_600),
        (0.90, "fp8", 7_200),
        (0.92, "bfloat16", 8_800),
        (0.92, "fp8", 17_700),
        (0.95, "bfloat16", 16_400),
        (0.95, "fp8", 32_800),
    ],
)
def test_70b_fp8_tokens_by_hand(utilization: float, kv_dtype: str, about: int) -> None:
    """(79.19 GiB x utilization - 67.7 of weights - 2.5 of working memory) / bytes per token."""
    found = look(LLAMA_70B_FP8, utilization=utilization, kv_dtype=kv_dtype, max_model_len=512)
    slack = 0.35 * GIB / (327_680 if kv_dtype == "bfloat16" else 163_840)
    assert best_tokens(found) == pytest.approx(about, abs=slack)


def test_weights_alone_exceed_the_budget() -> None:
    found = look(LLAMA_70B, max_model_len=2048)
    assert found.starts is False
    assert "weights alone need 131.4 GiB" in explain(found)
    assert "60.2 GiB short" in explain(found)
    assert [(r.setting, r.value) for r in find_remedies(found)] == [("tensor_parallel_size", 2)]


@pytest.mark.parametrize(
    ("release", "used_gib", "beside", "working", "short"),
    [
        ("0.18.0", 0, "", 2.2, 1.0),  # 1.96 of activations, 0.25 of libraries
        ("0.18.0", 2, "", 2.2, 1.0),  # the profile counts its own process only
        ("0.20.0", 0, "", 4.2, 3.0),  # and 1.99 of CUDA graphs
        ("0.8.5", 0, "", 5.6, 4.4),  # 4.90, 0.25 and a CUDA context of 0.45
        ("0.8.5", 2, ", other processes' 2.0 GiB", 5.6, 6.4),
    ],
)
def test_working_memory_exceeds_what_weights_leave(
    release: str, used_gib: float, beside: str, working: float, short: float
) -> None:
    """0.87 x 79.19 = 68.9 GiB, of which 67.7 are weights."""
    found = look(LLAMA_70B_FP8, utilization=0.87, release=release, used_bytes=used_gib * GIB)
    assert found.starts is False
    assert explain(found) == (
        f"does not start: no memory is left for KV blocks: weights 67.7 GiB{beside} and working "
        f"memory {working} GiB exceed the budget of 68.9 GiB (0.87 of 79.2) by {short} GiB"
    )


def test_layers_without_a_known_layout_give_a_reason_or_the_shortage() -> None:
    compressed = replace(LLAMA_8B, extra={"compress_ratios": [4]})
    unknown = look(compressed)
    assert (unknown.starts, unknown.pool) == (None, None)
    assert explain(unknown) == "the KV layout of llama-3.1-8b is not modelled: compressed KV"
    too_large = look(replace(LLAMA_70B, extra={"compress_ratios": [4]}))
    assert too_large.starts is False
    assert "weights alone need 131.4 GiB" in explain(too_large)


def test_8b_on_h100_by_hand() -> None:
    """71.27 GiB less 14.99 of weights, 1.96 for 1,024 rows of logits, 0.25 of libraries."""
    found = look(LLAMA_8B)
    assert found.starts is True
    by_hand = (71.27 - 14.99 - (1024 * 128256 * 14 + 8192 * 2 * 8192) / GIB - 0.25) * GIB
    assert best_tokens(found) == pytest.approx(by_hand / (128 * 1024), rel=1e-3)


def test_a_length_at_the_edge_may_or_may_not_start() -> None:
    edge = look(LLAMA_70B_FP8).longest
    at_the_edge = look(LLAMA_70B_FP8, max_model_len=edge)
    assert at_the_edge.starts is None
    assert "may not start" in explain(at_the_edge)


def test_one_more_block_is_needed_since_0_29() -> None:
    memory = {"kv_cache_memory_bytes": 8192 * 128 * 1024, "max_model_len": 8192}
    assert look(LLAMA_8B, release="0.28.0", **memory).starts is True
    assert look(LLAMA_8B, release="0.29.0", **memory).starts is False


def test_override_counts_for_the_check_since_0_20_1() -> None:
    assert look(LLAMA_8B, release="0.20.0", blocks_override=100).starts is True
    assert look(LLAMA_8B, release="0.20.1", blocks_override=100).starts is False


def test_automatic_length_is_what_fits() -> None:
    found = look(LLAMA_70B_FP8, max_model_len=None)
    assert found.starts is True
    assert found.served_length == found.longest == best_tokens(found)


def test_utilization_that_the_cuda_context_does_not_leave() -> None:
    assert look(LLAMA_8B, utilization=0.999).starts is False
    assert "to be free at start" in explain(look(LLAMA_8B, utilization=0.999))
    assert look(LLAMA_8B, utilization=0.999, release="0.8.5").starts is True  # not checked yet


def test_graphs_are_in_the_budget_since_0_20() -> None:
    before, after = look(release="0.19.1"), look(release="0.20.0")
    graphs = after.budgets[0].graphs.best
    assert graphs > 0
    assert before.budgets[0].kv_cache.best - after.budgets[0].kv_cache.best == pytest.approx(graphs)
    assert best_tokens(look(release="0.20.0", graph_mode="NONE")) == best_tokens(before)
    switched_off = look(release="0.20.0", graphs_in_budget=False)
    assert best_tokens(switched_off) == best_tokens(before)


@pytest.mark.parametrize(
    ("mode", "graphs"),
    [("NONE", 0), ("PIECEWISE", 51), ("FULL_DECODE_ONLY", 11), ("FULL_AND_PIECEWISE", 62)],
)
def test_graphs_of_a_mode(mode: str, graphs: int) -> None:
    """Sizes 1, 2, 4, 8 … 248 and 256 … 512 by 16; eleven of them hold 64 sequences or fewer."""
    assert captured_graphs(inputs_of(LLAMA_8B, graph_mode=mode, max_num_seqs=64)) == graphs


def test_smallest_stage_decides() -> None:
    """81 layers on two stages: 41 and 40; the last one runs the sampler and holds lm_head."""
    model = replace(LLAMA_70B, layers=81)
    inputs = inputs_of(model, pipeline_parallel=2, tensor_parallel=2)
    budgets = stage_budgets(inputs, stage_weights(inputs))
    pool = block_pool(inputs, budgets)
    page = 16 * 2 * 4 * 128 * 2
    by_stage = [budget.kv_cache.best // (page * budget.stage.layers) for budget in budgets]
    assert [budget.stage.layers for budget in budgets] == [41, 40]
    assert pool.best.num_blocks == min(by_stage)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0.3, 0.94),
    st.floats(0.0, 0.05),
    st.sampled_from(["0.8.5", "0.10.2", "0.18.0", "0.20.2", "0.33.0"]),
)
def test_more_utilization_never_gives_fewer_blocks(
    utilization: float, more: float, release: str
) -> None:
    first, second = (
        look(utilization=value, release=release, max_model_len=1)
        for value in (utilization, utilization + more)
    )
    assert first.pool and second.pool
    assert first.pool.best.num_blocks <= second.pool.best.num_blocks


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([16, 64, 256, 1024]))
def test_more_ranks_never_hold_fewer_tokens(ranks: int, sequences: int) -> None:
    one, two = (
        look(tensor_parallel=count, max_num_seqs=sequences, max_model_len=1)
        for count in (ranks, 2 * ranks)
    )
    assert best_tokens(one) <= best_tokens(two) or 2 * ranks > LLAMA_8B.kv_heads


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200_000), st.integers(1, 100_000))
def test_the_longest_length_is_the_last_that_fits(blocks: int, limit: int) -> None:
    found = look().pool
    assert found is not None
    pool = found.best._replace(memory=(blocks * found.layout.block_bytes,))
    longest = pool.longest(limit)
    assert pool.fits(longest)
    assert longest == limit or not pool.fits(longest + 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(16, 8192), st.integers(1, 512))
def test_bigger_steps_never_leave_more_memory(budget: int, sequences: int) -> None:
    small = look(token_budget=budget, max_num_seqs=sequences).budgets[0].kv_cache
    large = look(token_budget=2 * budget, max_num_seqs=sequences).budgets[0].kv_cache
    assert large.best <= small.best
    assert small.low <= small.best <= small.high


def test_the_written_length_is_sure_and_round() -> None:
    """Of 70B FP8 on one H100 at 0.95, about 16,400 tokens fit; the low end is what is written."""
    found = look(LLAMA_70B_FP8, utilization=0.95)
    assert found.surely_longest < found.longest
    assert safe_length(found) == found.surely_longest // 1024 * 1024
    assert look(LLAMA_70B_FP8, utilization=0.95, max_model_len=safe_length(found)).starts is True
    lengths = [r.value for r in find_remedies(found) if r.setting == "max_model_len"]
    assert lengths == [safe_length(found)]


@pytest.mark.parametrize(
    ("blocks", "length"),
    [
        (700, 11_200 // 1024 * 1024),  # from 8,192 tokens on, multiples of 1,024
        (500, 8000 // 256 * 256),  # from 1,024 on, of 256
        (63, 63 * 16),  # below, whole blocks
        (0, 0),
    ],
)
def test_the_written_length_is_rounder_the_longer_it_is(blocks: int, length: int) -> None:
    found = look()
    assert found.pool is not None
    low = found.pool.low._replace(memory=(blocks * found.pool.layout.block_bytes,))
    short = found._replace(pool=found.pool._replace(low=low))
    assert short.surely_longest == blocks * 16
    assert safe_length(short) == length


@pytest.mark.parametrize(
    ("stated", "ranks"), [(None, [2]), (1, []), (2, [2])], ids=["not stated", "one", "two"]
)
def test_no_more_ranks_than_gpus_are_proposed(stated: int | None, ranks: list[int]) -> None:
    found = look(LLAMA_70B, max_model_len=2048, gpus_stated=stated)
    values = [r.value for r in find_remedies(found) if r.setting == "tensor_parallel_size"]
    assert values == ranks


def test_what_others_hold_must_not_be_asked_for_at_start() -> None:
    """79.19 GiB less 9 and a context of 0.35 to 0.6: 0.88 x total is free, 0.9 x total is not."""
    found = look(used_bytes=9 * GIB)
    assert found.starts is False
    assert "asks for 71.3 GiB to be free at start, and beside the 9.0 GiB" in explain(found)
    remedies = {remedy.setting: remedy.value for remedy in find_remedies(found)}
    assert remedies == {"gpu_memory_utilization": 0.87}
    assert look(used_bytes=9 * GIB, utilization=0.87).starts is True
    with_bytes = look(used_bytes=9 * GIB, kv_cache_memory_bytes=20 * GIB)
    assert with_bytes.starts is False  # the check at start asks nothing about the KV cache


@pytest.mark.parametrize("stated", [None, 20 * GIB], ids=["by utilization", "by bytes"])
@pytest.mark.parametrize("release", ["0.9.0", "0.18.0", "0.25.0"])
def test_what_is_said_of_a_card_adds_up_to_it(release: str, stated: float | None) -> None:
    found = look(release=release, used_bytes=2 * GIB, kv_cache_memory_bytes=stated)
    terms = found.budgets[0].terms(found.inputs)
    paid = 2 * GIB if release == "0.9.0" else 0.0  # by the budget, for others
    graphs = terms.cuda_graphs if release == "0.25.0" else 0.0
    parts = (terms.weights, terms.activation, terms.non_torch, terms.kv_cache, graphs, paid)
    assert terms.budget == pytest.approx(sum(parts))
    context = terms.total - terms.budget - terms.unclaimed - (terms.others - paid)
    assert 0 < context < GIB
    assert stated is None or terms.kv_cache == stated


def test_before_the_check_the_budget_pays_for_what_others_hold() -> None:
    alone, beside = (look(release="0.9.0", used_bytes=used * GIB) for used in (0, 9))
    assert alone.starts is True
    less = alone.budgets[0].kv_cache.best - beside.budgets[0].kv_cache.best
    assert less / GIB == pytest.approx(9)
    terms = beside.budgets[0].terms(beside.inputs)
    assert terms.others == 9 * GIB
    short = look(release="0.9.0", used_bytes=50 * GIB, max_model_len=8192)
    remedies = {remedy.setting: remedy.value for remedy in find_remedies(short)}
    assert 0.9 < remedies["gpu_memory_utilization"] <= 0.95  # of the card, others' part included
    assert terms.non_torch == pytest.approx(alone.budgets[0].terms(alone.inputs).non_torch)


def test_the_v0_engine_runs_out_where_others_hold_its_share() -> None:
    found = look(release="0.8.5", is_v0=True, used_bytes=9 * GIB)
    assert found.starts is False
    assert "out of memory: the engine takes 71.3 GiB" in explain(found)
    assert look(release="0.8.5", is_v0=True, used_bytes=9 * GIB, utilization=0.85).starts is True


def test_where_no_single_change_is_enough_two_are_proposed() -> None:
    """At 0.87 nothing is left beside 67.7 GiB; 0.95 alone does not hold 131,072 tokens of 320 KiB."""
    found = look(LLAMA_70B_FP8, utilization=0.87, gpus_stated=1)
    remedies = {remedy.setting: remedy for remedy in find_remedies(found)}
    raised = remedies["gpu_memory_utilization"]
    assert raised.changes == {
        "gpu_memory_utilization": raised.value,
        "max_model_len": raised.max_model_len,
    }
    assert 0.9 < raised.value <= 0.95
    assert raised.max_model_len is not None
    assert 2048 <= raised.max_model_len <= raised.largest_max_model_len
    then = look(
        LLAMA_70B_FP8,
        utilization=raised.value,
        max_model_len=raised.max_model_len,
        gpus_stated=1,
    )
    assert then.starts is True
