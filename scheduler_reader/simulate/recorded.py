"""A run of an engine's workload that keeps what a timeline draws."""

from __future__ import annotations

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.errors import UsageError
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.modes import MOST_RECORDED
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.simulate.traffic import source
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Workload


def recorded_run(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload
) -> SimulationResult | None:
    """The run of one replica, as the engine is configured, with its phases and samples.

    None where it cannot be simulated, has more requests than a page can draw, or drafts tokens:
    how many of those are accepted differs from step to step, and no timeline shows it.
    """
    setup = set_up(engine, plan, workload)
    if isinstance(setup, Unknown) or setup.value.config.num_speculative_tokens:
        return None
    if setup.value.workload.num_requests > MOST_RECORDED:
        return None
    config, model = setup.value.config, setup.value.step_model
    requests = source(setup.value.workload, config.max_model_len, setup.value.ramp_s)
    try:
        return run_stepwise(
            config, setup.value.release, model, requests, record_phases=True, record_samples=True
        )
    except UsageError:
        return None
