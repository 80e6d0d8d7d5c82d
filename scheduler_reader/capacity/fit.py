"""Does it start, and what is the longest request it can serve."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_reader.capacity.budget import (
    Pool,
    StageBudget,
    block_pool,
    stage_budgets,
    stage_weights,
    tightest,
)
from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.refusals import refused
from scheduler_reader.capacity.stages import stages


@dataclass(frozen=True, slots=True)
class Outlook:
    """One engine's start.

    `pool` None: the KV layout is not modelled.  `cause` says so, or which check beside the fit of
    one request fails; empty: whether it starts is a matter of memory.
    """

    inputs: CapacityInputs
    budgets: tuple[StageBudget, ...]
    pool: Pool | None
    starts: bool | None
    cause: str = ""

    @property
    def longest(self) -> int:
        """The largest max_model_len that starts, by the best estimate; 0: none."""
        return self._longest(self.pool.best) if self.pool else 0

    @property
    def surely_longest(self) -> int:
        """The largest max_model_len that starts at the low end of the spread; 0: none."""
        return self._longest(self.pool.low) if self.pool else 0

    def _longest(self, computed: int) -> int:
        assert self.pool is not None
        extra = int(value_at("null_block_is_extra", self.inputs.release))
        blocks = checked_blocks(self.inputs, computed) - extra
        return self.pool.layout.longest(blocks, self.inputs.length_cap)

    @property
    def served_length(self) -> int:
        """max_model_len as the engine will run it: the largest that fits where it is automatic."""
        return self.inputs.max_model_len or self.longest


def outlook(inputs: CapacityInputs, weights: tuple[float, ...] | None = None) -> Outlook:
    """Whether the engine starts, at the low end, the best value and the high end of the spread.

    All three: True.  None of them: False.  Otherwise None.  `weights`: the stages' weight bytes
    where they are known already.
    """
    budgets = stage_budgets(inputs, weights or stage_weights(inputs))
    try:
        pool = block_pool(inputs, budgets)
    except MissingFactError as missing:
        if tightest(budgets).kv_cache.high <= 0:
            return Outlook(inputs, budgets, None, False)
        return Outlook(inputs, budgets, None, None, str(missing))
    ends = [_fits(inputs, pool, blocks) for blocks in (pool.low, pool.best, pool.high)]
    starts = True if all(ends) else None if any(ends) else False
    refusal = refused(inputs, pool) if starts is not False else None
    if refusal and (starts or refusal.is_certain):
        certainty = False if refusal.is_certain else None
        return Outlook(inputs, budgets, pool, certainty, refusal.reason)
    return Outlook(inputs, budgets, pool, starts)


def checked_blocks(inputs: CapacityInputs, computed: int) -> int:
    """The blocks that the one-request check sees of the `computed` ones of the smallest stage.

    From 0.20.1 the overridden number; 0.14.0 to 0.16.0 compare the layers of all pipeline stages
    with the memory of one.
    """
    if inputs.blocks_override and value_at("override_is_checked", inputs.release):
        return inputs.blocks_override
    if inputs.pipeline_parallel > 1 and value_at("check_counts_all_stages", inputs.release):
        layers = inputs.model.layers
        held = max(stage.layers for stage in stages(layers, inputs.pipeline_parallel))
        return computed * held // layers
    return computed


def _fits(inputs: CapacityInputs, pool: Pool, computed: int) -> bool:
    blocks = checked_blocks(inputs, computed)
    needed = pool.layout.blocks(inputs.max_model_len or 1)
    return 0 < needed + int(value_at("null_block_is_extra", inputs.release)) <= blocks
