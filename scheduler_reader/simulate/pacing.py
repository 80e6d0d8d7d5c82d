"""`prefill_schedule_interval`: prefill only every so many steps, so that decodes run undisturbed.

vllm/v1/core/sched/scheduler.py, Scheduler.schedule, the part on the local prefill cadence (0.33.0).
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.request import Request


class Pacing:
    """Counts executed steps since the last one that carried prefill."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour) -> None:
        self._interval = config.prefill_schedule_interval if behaviour.paces_alone else 1
        self._executed = 0
        self._last_prefill = -self._interval
        self.is_backed_up = False  # a step free to prefill left requests waiting: no more pacing

    def holds_prefill(self, running: Iterable[Request]) -> bool:
        """Whether this step leaves prefill out; never when there is nothing to decode."""
        if self._interval == 1 or self.is_backed_up:
            return False
        since = self._executed + 1 - self._last_prefill
        return since < self._interval and any(not request.is_prefilling for request in running)

    def note(self, batch: Batch) -> None:
        """A step has been decided."""
        if batch.shares:
            self._executed += 1
        if batch.carries_prefill or batch.admits_prefill:
            self._last_prefill = self._executed
