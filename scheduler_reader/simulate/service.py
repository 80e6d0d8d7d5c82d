"""Serve a workload: from event to event where counts decide, else step by step."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.event_driven import NotPlainError, is_plain, run_event_driven
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.stepwise import run_stepwise


def serve(
    config: EngineConfig,
    release: Release,
    step_model: StepModel,
    requests: Callable[[], Source],
    *,
    most_work: float = inf,
) -> SimulationResult:
    """Serve all requests of a source, without phases and samples.

    `requests` makes the source: a run that turns out to need the exact scheduler (a preemption, a
    shared prefix) starts again from its first request.  Both ways give the same result.  Raises
    `UsageError` when the release refuses the settings, and `LongRunError` where the exact scheduler
    has done `most_work` (`stepwise.run_stepwise`) and is not through.
    """
    if is_plain(config):
        try:
            return run_event_driven(config, release, step_model, requests())
        except NotPlainError:
            pass
    return run_stepwise(config, release, step_model, requests(), most_work=most_work)
