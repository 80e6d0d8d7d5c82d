"""Token budgets side by side: what a budget is paid for with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.budgets import BudgetTable, compare_budgets
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Lengths, Slo, Workload

Served = Callable[..., tuple[ResolvedEngine, CapacityPlan]]
LOAD = Workload(
    concurrency=16,
    num_requests=64,
    input_tokens=Lengths(constant=4096),
    output_tokens=Lengths(constant=256),
)
MODEL = "nvidia/Llama-3.3-70B-Instruct-FP8 --max-model-len 8192 --max-num-seqs 64"


def table(served: Served, arguments: str, slo: Slo, load: Workload = LOAD) -> BudgetTable:
    found = compare_budgets(served(arguments)[0], load, slo)
    assert not isinstance(found, Unknown), found.reason
    return found.value


def test_a_budget_costs_blocks_and_time_of_the_others(served: Served) -> None:
    found = table(served, f"{MODEL} -tp 2", Slo())
    blocks = [one.plan.num_blocks for one in found.budgets]
    steps = [one.full_step_ms for one in found.budgets]
    assert [one.tokens for one in found.budgets] == [256, 512, 1024, 2048, 4096, 8192, 16384]
    assert [one.tokens for one in found.budgets if one.is_current] == [8192]
    assert blocks == sorted(blocks, reverse=True)
    assert steps == sorted(steps)
    assert [one.blocks_of_step for one in found.budgets][:2] == [16, 32]
    assert (found.block_size, found.request_blocks) == (16, 272)  # (4,096 + 256) / 16
    assert found.right is None  # nobody states what is to be kept


@pytest.mark.parametrize("limit_ms", [40, 60, 120, 400])
def test_the_right_budget_keeps_the_objective_and_is_not_smaller_than_it_must_be(
    served: Served, limit_ms: float
) -> None:
    found = table(served, f"{MODEL} -tp 4", Slo(itl_ms=limit_ms))
    right = found.right
    assert right is not None and right.estimate is not None
    most = max(one.estimate.goodput_requests_per_s for one in found.budgets if one.estimate)
    assert right.estimate.goodput_requests_per_s >= 0.99 * most
    assert right.full_step_ms <= limit_ms * 1.05


def test_a_tighter_target_asks_for_a_smaller_budget(served: Served) -> None:
    rights = [table(served, f"{MODEL} -tp 4", Slo(itl_ms=ms)).right for ms in (40, 120, 400)]
    sizes = [right.tokens for right in rights if right is not None]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_blocks_are_counted_in_their_size(served: Served) -> None:
    small, large = (
        table(served, f"{MODEL} -tp 2 --block-size {size}", Slo()).budgets[3] for size in (16, 32)
    )
    assert small.plan.num_blocks is not None and large.plan.num_blocks is not None
    assert small.plan.num_blocks == pytest.approx(2 * large.plan.num_blocks, abs=2)
    assert (small.blocks_of_step, large.blocks_of_step) == (128, 64)


def test_a_budget_that_leaves_no_blocks_does_not_start(served: Served) -> None:
    found = table(served, MODEL, Slo(itl_ms=80))
    last = found.budgets[-1]
    assert (last.tokens, last.plan.starts, last.estimate) == (16384, False, None)


def test_budgets_that_vllm_refuses_are_left_out(served: Served) -> None:
    found = table(served, "meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 1024", Slo())
    assert (found.least, found.least_is) == (1024, "max_num_seqs")
    assert found.budgets[0].tokens == 1024


def test_without_chunks_a_budget_holds_a_whole_request(served: Served) -> None:
    found = table(served, f"{MODEL} -tp 2 --no-enable-chunked-prefill", Slo())
    assert (found.least, found.least_is) == (8192, "max_model_len")
    assert [one.tokens for one in found.budgets] == [8192, 16384]


def test_no_budget_is_right_for_more_than_can_be_served(served: Served) -> None:
    load = LOAD.replaced({"protocol": "open-loop", "rate": 500.0, "concurrency": None})
    assert table(served, f"{MODEL} -tp 2", Slo(ttft_ms=500), load).right is None


def test_an_objective_nobody_can_keep_has_no_right_budget(served: Served) -> None:
    assert table(served, f"{MODEL} -tp 2", Slo(itl_ms=1)).right is None


def test_an_unknown_model_is_said(served: Served) -> None:
    assert isinstance(compare_budgets(served("nobody/knows-this")[0], LOAD, Slo()), Unknown)


def test_requests_that_are_longer_than_the_model_takes_do_not_end_the_run(served: Served) -> None:
    engine, _ = served("meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096")
    found = compare_budgets(engine, LOAD, Slo())
    assert isinstance(found, Unknown)
    assert found.reason.startswith("no request is served: a prompt of 4,096 tokens")
