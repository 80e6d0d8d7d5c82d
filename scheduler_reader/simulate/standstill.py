"""Whether anything can still come of a run: requests may wait, or preempt each other, for ever."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.request import Request

# Steps without an output, beyond four times those that all prompts take: nothing will come any more.
_FRUITLESS = 1_000
_GIVE_UP = 3  # empty steps in a row after which nothing but an arrival can change anything


class Standstill:
    """Watches the steps of a run."""

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._idle_steps = 0
        self._fruitless_steps = 0  # since the last output
        self._cornered: dict[Request, int] = {}  # known tokens when it last gave way to itself

    def note_step(self, *, is_idle: bool) -> None:
        """A step is decided, with nothing in it and nothing in flight (`is_idle`) or not."""
        self._idle_steps = self._idle_steps + 1 if is_idle else 0

    def note_end(self, *, has_output: bool) -> None:
        """A step is done."""
        self._fruitless_steps = 0 if has_output else self._fruitless_steps + 1

    def waits_for_arrival(self, batch: Batch, running: list[Request]) -> bool:
        """Whether only another request can change anything after this batch."""
        if self._idle_steps > _GIVE_UP or self._is_cornered(batch, running):
            self._idle_steps = 0
            return True
        return False

    def is_fruitless(self, requests: Iterable[Request]) -> bool:
        """Whether outputs are overdue by far: requests preempt each other before any gets a token."""
        if self._fruitless_steps <= _FRUITLESS:
            return False
        chunk = max(1, min(self._config.max_num_batched_tokens, self._config.max_model_len))
        threshold = self._config.long_prefill_token_threshold
        chunk = min(chunk, threshold) if threshold else chunk
        steps = sum(-(-request.known // chunk) for request in requests)
        return (
            self._fruitless_steps > _FRUITLESS + 4 * steps * self._config.prefill_schedule_interval
        )

    def _is_cornered(self, batch: Batch, running: list[Request]) -> bool:
        """Whether a request that has the engine to itself gives way to itself for ever."""
        if batch.shares or len(batch.preempted) != 1 or running:
            return False
        victim = batch.preempted[0]
        is_same = self._cornered.get(victim) == victim.known
        self._cornered[victim] = victim.known
        return is_same
