"""What `simulate` runs for one engine: resolve it, plan its memory, run the modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.cli.progress import Session
from scheduler_reader.errors import UsageError
from scheduler_reader.pipeline import workload_assumption
from scheduler_reader.report.simulation.simulated import Simulated
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.modes import MOST_RECORDED, Mode
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.study import study
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.parse.source import ParsedEngine


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options ask for.  `workload` None: nobody states one."""

    target: ResolveOptions
    workload: Workload | None
    changes: dict[str, Any]  # fields of the workload that options of their own replace
    slo: Slo
    modes: tuple[Mode, ...]
    needs_timeline: bool = False


def simulated(parsed: ParsedEngine, wanted: Wanted, session: Session) -> Simulated:
    """The study of one engine, or why it cannot be simulated.

    Raises `UsageError` when a timeline is needed of more requests than one is kept of.
    """
    engine = resolve(parsed, wanted.target)
    workload = (wanted.workload or DEFAULT_WORKLOAD).replaced(wanted.changes)
    setup = set_up(engine, plan_capacity(engine, workload), workload)
    if isinstance(setup, Unknown):
        return Simulated(_title(engine), (), None, setup.reason)
    if wanted.needs_timeline and setup.value.workload.num_requests > MOST_RECORDED:
        raise UsageError(
            f"--timeline keeps at most {MOST_RECORDED:,} requests, here are "
            f"{setup.value.workload.num_requests:,}: add --requests {MOST_RECORDED}"
        )
    watch = partial(session.watch, setup.value.workload.num_requests)
    result = study(setup.value, wanted.slo, wanted.modes, watch, lambda: session.is_stopped)
    assumptions = engine.assumptions + workload_assumption(wanted.workload, workload.num_requests)
    return Simulated(_title(engine), assumptions, result)


def _title(engine: ResolvedEngine) -> str:
    model = engine.model_id.value if isinstance(engine.model_id, Known) else "unknown model"
    hardware = engine.hardware
    return f"{model} on {hardware.count} × {hardware.gpu.title}, vLLM {engine.release.name}"
