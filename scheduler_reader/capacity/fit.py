"""Does it start, and if not, which component is short of how much memory."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_reader.capacity.budget import Pool, StageBudget, block_pool, stage_budgets, tightest
from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.overheads import are_graphs_in_budget
from scheduler_reader.capacity.refusals import refused
from scheduler_reader.capacity.stages import stages
from scheduler_reader.knowledge.gpus import GIB


@dataclass(frozen=True, slots=True)
class Outlook:
    """One engine's start.  `pool` None: the KV layout is not modelled, see `reason`."""

    inputs: CapacityInputs
    budgets: tuple[StageBudget, ...]
    pool: Pool | None
    starts: bool | None
    reason: str

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


def outlook(inputs: CapacityInputs) -> Outlook:
    """Whether the engine starts, at the low end, the best value and the high end of the spread.

    All three: True.  None of them: False.  Otherwise None.
    """
    budgets = stage_budgets(inputs)
    try:
        pool = block_pool(inputs, budgets)
    except MissingFactError as missing:
        room = tightest(budgets).kv_cache
        if room.high <= 0:
            return Outlook(inputs, budgets, None, False, _no_room(inputs, tightest(budgets)))
        return Outlook(inputs, budgets, None, None, str(missing))
    ends = [_fits(inputs, pool, blocks) for blocks in (pool.low, pool.best, pool.high)]
    found = Outlook(inputs, budgets, pool, None, "")
    starts = True if all(ends) else None if any(ends) else False
    refusal = refused(inputs, pool) if starts is not False else None
    if refusal and (starts or refusal.is_certain):
        certainty = False if refusal.is_certain else None
        return Outlook(inputs, budgets, pool, certainty, refusal.reason)
    reason = "starts" if starts else _shortage(found, is_certain=starts is False)
    return Outlook(inputs, budgets, pool, starts, reason)


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


def _shortage(found: Outlook, is_certain: bool) -> str:
    inputs, pool, worst = found.inputs, found.pool, tightest(found.budgets)
    assert pool is not None
    if worst.kv_cache.best <= 0:
        return _no_room(inputs, worst)
    length = inputs.max_model_len or 1
    needed = pool.layout.blocks(length) + int(value_at("null_block_is_extra", inputs.release))
    available = checked_blocks(inputs, pool.best)
    size = pool.layout.block_bytes / GIB
    need, room = needed * size, available * size
    if need <= room:
        return (
            f"may not start: one request of max_model_len {length:,} needs {need:.2f} GiB of KV "
            f"cache and about {room:.2f} GiB is left, within the spread of the estimate"
        )
    says = "does not start" if is_certain else "may not start"
    longest = found.longest
    remedy = f"the largest max_model_len that fits is {longest:,}" if longest else "none fits"
    return (
        f"{says}: one request of max_model_len {length:,} needs {need:.2f} GiB of KV cache a GPU "
        f"and {room:.2f} GiB is left, {need - room:.2f} GiB short; {remedy}"
    )


def _no_room(inputs: CapacityInputs, worst: StageBudget) -> str:
    """Words for a budget that weights and working memory exceed."""
    short = -worst.kv_cache.best / GIB
    budget = f"{worst.budget / GIB:.1f} GiB ({inputs.utilization:g} of {inputs.gpu.memory_gib:.1f})"
    if worst.weights >= worst.budget:
        return (
            f"does not start: weights alone need {worst.weights / GIB:.1f} GiB a GPU and the "
            f"budget is {budget}: {(worst.weights - worst.budget) / GIB:.1f} GiB short"
        )
    graphs = worst.graphs.best if are_graphs_in_budget(inputs) else 0.0
    working = worst.activation.best + worst.non_torch.best + graphs
    return (
        f"no memory is left for KV blocks: weights {worst.weights / GIB:.1f} GiB and working "
        f"memory {working / GIB:.1f} GiB exceed the budget of {budget} by {max(short, 0):.1f} GiB"
    )
