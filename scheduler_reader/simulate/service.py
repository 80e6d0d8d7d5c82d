"""Serve a workload: from event to event where counts decide, else step by step."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.record import Record
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.drafts import InUnits, counted
from scheduler_reader.simulate.event_driven import is_plain, run_event_driven
from scheduler_reader.simulate.failure import NotPlainError
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.setup import Setup
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.simulate.traffic import source


class Runnable(Record):
    """What a run takes, in the units of its step model (`drafts`)."""

    config: EngineConfig
    release: Release
    step_model: StepModel
    requests: Callable[[], Source]


def runnable(setup: Setup) -> Runnable:
    """A setup's engine and workload, ready to run."""
    units = counted(setup)
    model = units.step_model

    def requests() -> Source:
        length = setup.config.max_model_len
        arrivals = source(setup.workload, length, setup.ramp_s, setup.frontend_s)
        return InUnits(arrivals, model.acceptance) if model.speculation else arrivals

    return Runnable(units.config, units.release, model, requests)


def serve(
    config: EngineConfig,
    release: Release,
    step_model: StepModel,
    requests: Callable[[], Source],
    *,
    most_work: float = inf,
) -> SimulationResult:
    """Serve all requests of a source, without phases and samples.

    `requests` makes the source: a run that turns out to need the exact scheduler (a shared prefix, a
    preemption by priority) starts again from its first request.  Both ways give the same result.
    Raises `UsageError` when the release refuses the settings, and `LongRunError` where either has
    done `most_work` (`stepwise.run_stepwise`) and is not through.
    """
    if is_plain(config):
        try:
            return run_event_driven(config, release, step_model, requests(), most_work=most_work)
        except NotPlainError:
            pass
    return run_stepwise(config, release, step_model, requests(), most_work=most_work)
