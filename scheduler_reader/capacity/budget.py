"""What is left for KV blocks on one rank of each pipeline stage, and the pool of blocks it makes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from math import fsum, hypot

from scheduler_reader.capacity.activations import profile_peak, sampler_peak
from scheduler_reader.capacity.constants import Spread, gib_spread
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.kv_cache import layouts
from scheduler_reader.capacity.kv_pool import KvLayout, KvPool
from scheduler_reader.capacity.overheads import (
    are_graphs_in_budget,
    counts_whole_device,
    cuda_graphs,
    non_torch,
)
from scheduler_reader.capacity.plan import MemoryTerms
from scheduler_reader.capacity.stages import Stage, stages
from scheduler_reader.capacity.weights import weight_bytes
from scheduler_reader.record import Record


class StageBudget(Record):
    """The memory of one rank of a stage, in bytes.  `kv_cache` may be negative."""

    stage: Stage
    budget: float
    weights: float
    activation: Spread
    graphs: Spread
    non_torch: Spread
    kv_cache: Spread

    def terms(self, inputs: CapacityInputs) -> MemoryTerms:
        total, samples = inputs.gpu.memory_bytes, self.stage.is_last
        context = gib_spread("cuda_context_gib").best
        paid = inputs.used_bytes if counts_whole_device(inputs) else 0.0
        return MemoryTerms(
            total=total,
            others=inputs.used_bytes,
            sampler=sampler_peak(inputs).best if samples and not inputs.model.is_pooling else 0.0,
            unclaimed=total - context - self.budget - (inputs.used_bytes - paid),
            budget=self.budget,
            weights=self.weights,
            activation=self.activation.best,
            cuda_graphs=self.graphs.best,
            non_torch=self.non_torch.best - paid,
            kv_cache=self.kv_cache.best,
        )


class Pool(Record):
    """The pool of KV blocks at the low end, the best value and the high end of the spread."""

    low: KvPool
    best: KvPool
    high: KvPool

    @property
    def layout(self) -> KvLayout:
        """The groups of the stage with the fewest blocks."""
        return self.best.tightest


def stage_weights(inputs: CapacityInputs) -> tuple[float, ...]:
    """Weight bytes on one rank of every stage."""
    held = stages(inputs.model.layers, inputs.pipeline_parallel, inputs.layers_by_stage)
    return tuple(weight_bytes(inputs, stage) for stage in held)


def stage_budgets(inputs: CapacityInputs, weights: tuple[float, ...]) -> tuple[StageBudget, ...]:
    """The memory of every stage, given its `stage_weights`.

    Budget minus weights, profile peak, non-torch memory and, from 0.20.0, CUDA graphs (vllm/v1/
    worker/gpu_worker.py, determine_available_memory).  The fitted terms are independent, so their
    deviations add up as squares.  `kv_cache_memory_bytes` replaces the sum.
    """
    held = stages(inputs.model.layers, inputs.pipeline_parallel, inputs.layers_by_stage)
    return tuple(map(_stage_budget, repeat(inputs), held, weights))


def _stage_budget(inputs: CapacityInputs, stage: Stage, weights: float) -> StageBudget:
    activation = profile_peak(inputs, stage)
    graphs, libraries = cuda_graphs(inputs, stage), non_torch(inputs)
    budget = inputs.gpu.memory_bytes * inputs.utilization
    fitted = [activation, libraries] + [graphs] * are_graphs_in_budget(inputs)
    left = budget - weights - fsum(term.best for term in fitted)
    kv_cache = Spread(
        left - hypot(*(term.high - term.best for term in fitted)),
        left,
        left + hypot(*(term.best - term.low for term in fitted)),
    )
    if inputs.kv_cache_memory_bytes is not None:
        kv_cache = Spread.exact(inputs.kv_cache_memory_bytes)
        budget = kv_cache.best + weights + fsum(term.best for term in fitted)
    return StageBudget(stage, budget, weights, activation, graphs, libraries, kv_cache)


def tightest(budgets: tuple[StageBudget, ...]) -> StageBudget:
    """The stage with the least room for each of its layers."""
    return min(budgets, key=lambda b: b.kv_cache.best / b.stage.layers)


def block_pool(inputs: CapacityInputs, budgets: tuple[StageBudget, ...]) -> Pool:
    """The pool of blocks.

    Raises `MissingFactError` where the KV layout of the layers is not modelled.
    """
    cut = layouts(inputs)

    def pool(memory: Iterable[float]) -> KvPool:
        override = inputs.blocks_override
        return KvPool(inputs.release, cut, tuple(memory), override, inputs.block_size)

    return Pool(
        pool(budget.kv_cache.low for budget in budgets),
        pool(budget.kv_cache.best for budget in budgets),
        pool(budget.kv_cache.high for budget in budgets),
    )
