"""Does it start, and what is the longest request it can serve."""

from __future__ import annotations

from scheduler_reader.capacity.budget import (
    Pool,
    StageBudget,
    block_pool,
    stage_budgets,
    stage_weights,
    tightest,
)
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.kv_pool import KvPool
from scheduler_reader.capacity.refusals import StartCheck, refused
from scheduler_reader.record import Record


class Outlook(Record):
    """One engine's start.

    `pool` None: the KV layout is not modelled.  `cause` says so, or which check beside the fit of
    one request fails; empty: whether it starts is a matter of memory.
    """

    inputs: CapacityInputs
    budgets: tuple[StageBudget, ...]
    pool: Pool | None
    starts: bool | None
    cause: str = ""
    check: StartCheck = ""

    @property
    def longest(self) -> int:
        """The largest max_model_len that starts and can run, by the best estimate; 0: none."""
        return self.pool.best.longest_held(self.inputs.length_cap) if self.pool else 0

    @property
    def surely_longest(self) -> int:
        """The largest max_model_len that starts and can run at the low end; 0: none."""
        return self.pool.low.longest_held(self.inputs.length_cap) if self.pool else 0

    @property
    def served_length(self) -> int:
        """max_model_len as the engine runs it: the largest its check passes where automatic."""
        if self.inputs.max_model_len or self.pool is None:
            return self.inputs.max_model_len or 0
        return self.pool.best.longest(self.inputs.length_cap)


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
    ends = [_fits(inputs, end) for end in (pool.low, pool.best, pool.high)]
    starts = True if all(ends) else None if any(ends) else False
    refusal = refused(inputs, budgets, pool) if starts is not False else None
    if refusal and (starts or refusal.is_certain):
        certainty = False if refusal.is_certain else None
        return Outlook(inputs, budgets, pool, certainty, refusal.reason, refusal.check)
    return Outlook(inputs, budgets, pool, starts)


def _fits(inputs: CapacityInputs, pool: KvPool) -> bool:
    return pool.has_memory() and pool.fits(inputs.max_model_len or 1)
