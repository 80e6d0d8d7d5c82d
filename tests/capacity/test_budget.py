"""The memory of one stage, term by term: what is the sampler's, the libraries', others' and nobody's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B

from scheduler_reader.capacity.activations import sampler_peak
from scheduler_reader.capacity.budget import (
    StageBudget,
    stage_budgets,
    stage_weights,
    tightest,
)
from scheduler_reader.capacity.constants import Spread
from scheduler_reader.capacity.plan import MemoryTerms
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts


def budgets(model: ModelFacts = LLAMA_8B, **settings: Any) -> tuple[StageBudget, ...]:
    inputs = inputs_of(model, **settings)
    return stage_budgets(inputs, stage_weights(inputs))


def terms(model: ModelFacts = LLAMA_8B, stage: int = 0, **settings: Any) -> MemoryTerms:
    inputs = inputs_of(model, **settings)
    return stage_budgets(inputs, stage_weights(inputs))[stage].terms(inputs)


def test_the_sampler_is_on_the_last_stage_of_a_model_that_generates() -> None:
    rows = sampler_peak(inputs_of(LLAMA_8B)).best
    assert [terms(stage=stage, pipeline_parallel=2).sampler for stage in (0, 1)] == [0, rows]
    pooling = replace(LLAMA_8B, is_pooling=True)
    assert [terms(pooling, stage, pipeline_parallel=2).sampler for stage in (0, 1)] == [0, 0]


@pytest.mark.parametrize(("release", "paid_gib"), [("0.9.0", 2), ("0.18.0", 0)])
def test_what_others_hold_is_paid_by_the_budget_until_0_9_0(release: str, paid_gib: int) -> None:
    """Half of the card is asked for, others hold 2 GiB and the CUDA context takes 0.45."""
    found = terms(release=release, used_bytes=2 * GIB, utilization=0.5)
    half = H100.memory_bytes / 2
    assert found.unclaimed == half - 0.45 * GIB - (2 - paid_gib) * GIB
    alone = terms(release=release, utilization=0.5)
    assert found.non_torch == pytest.approx(alone.non_torch, abs=0.1, rel=0)


def test_deviations_of_fitted_terms_add_up_as_squares() -> None:
    (found,) = budgets(release="0.20.0")
    terms_ = (found.activation, found.graphs, found.non_torch)
    lower, upper = (
        sum((term.best - end) ** 2 for term, end in zip(terms_, ends, strict=True)) ** 0.5
        for ends in ([term.low for term in terms_], [term.high for term in terms_])
    )
    assert found.kv_cache.high - found.kv_cache.best == pytest.approx(lower)
    assert found.kv_cache.best - found.kv_cache.low == pytest.approx(upper)


def test_the_tightest_stage_has_the_least_for_each_of_its_layers() -> None:
    """11 bytes for five layers are less than 8 for two of them."""
    (whole,) = budgets()
    many, few = (
        whole._replace(stage=whole.stage._replace(last=layers), kv_cache=Spread.exact(left))
        for layers, left in ((5, 11.0), (2, 8.0))
    )
    assert tightest((few, many)) == tightest((many, few)) == many
