"""From a resolved engine and its capacity plan to what a simulated run needs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.settings import optional, parallelism
from scheduler_reader.performance.step import StepModel
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.behaviour import oldest_simulated
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import Workload

_ARGUMENTS = {"policy": "scheduling_policy"}  # settings that the engine calls otherwise
_NOT_ARGUMENTS = ("num_gpu_blocks", "sliding_window", "num_speculative_tokens")


class Setup(Record):
    """One data-parallel replica, and the part of the workload that it gets."""

    config: EngineConfig
    release: Release
    step_model: StepModel
    workload: Workload
    replicas: int
    frontend_s: float  # of a request of mean length
    notes: tuple[str, ...]

    @property
    def ramp_s(self) -> float:
        """How long a request takes beside all others: a steady start is spread over that time."""
        seats = min(self.workload.concurrency or 1, self.config.active_limit)
        prompt, output = self.workload.input_tokens.mean, self.workload.output_tokens.mean
        steps = output / self.step_model.acceptance
        return steps * self.step_model.step_seconds(seats, seats * (prompt + output / 2))


def set_up(engine: ResolvedEngine, plan: CapacityPlan, workload: Workload) -> Value[Setup]:
    """What to simulate, or why it cannot be: a setting, the model or the memory is not known."""
    if engine.engine == "V0":
        return Unknown(f"vLLM {engine.release.name} runs the V0 engine here; V1's is simulated")
    if plan.starts is False:
        reason = plan.reason.removeprefix("does not start: ")
        return Unknown(f"the engine does not start: {reason}")
    step, parallel = build_step_model(engine), parallelism(engine)
    if isinstance(step, Unknown):
        return step
    if isinstance(parallel, Unknown):
        return parallel
    replicas = workload.busy_replicas(parallel.value.data)
    share = _share(workload, replicas)
    config = _engine_config(engine, plan, share, step.value)
    if isinstance(config, Unknown):
        return config
    setup = Setup(
        config=config.value,
        release=engine.release,
        step_model=step.value.accepting(workload.acceptance_length),
        workload=share,
        replicas=replicas,
        frontend_s=step.value.outside_seconds(share.input_tokens.mean),
        notes=_notes(engine, step.value.accepting(workload.acceptance_length), replicas),
    )
    return Known(setup, Origin("derived", "resolved settings and capacity plan"))


def _engine_config(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload, step: StepModel
) -> Value[EngineConfig]:
    settings: dict[str, Any] = {}
    for field in fields(EngineConfig):
        name = _ARGUMENTS.get(field.name, field.name)
        if field.name in _NOT_ARGUMENTS:
            continue
        value = optional(engine, name, None)
        if isinstance(value, Unknown):
            return Unknown(f"{name} is not known: {value.reason}")
        if value is not None:
            settings[field.name] = value
    if engine.fits_length_to_memory and plan.largest_max_model_len:
        length = min(settings["max_model_len"], plan.largest_max_model_len)
        settings["max_model_len"] = length
    if plan.block_size is not None:
        settings["block_size"] = plan.block_size
    blocks = _blocks(plan, workload, step)
    if blocks is None:
        return Unknown(f"the number of KV blocks is not known: {plan.reason}")
    return Known(
        EngineConfig(**settings, num_gpu_blocks=blocks),
        Origin("derived", "resolved settings and capacity plan"),
    )


def _blocks(plan: CapacityPlan, workload: Workload, step: StepModel) -> int | None:
    """Blocks of the pool; of layers with windows or states, as many as hold the same requests."""
    if plan.num_blocks is None or plan.block_size is None:
        return None
    is_plain = step.attention and all(cost.window is None for cost in step.attention)
    if is_plain or plan.workload_concurrency is None:
        return plan.num_blocks
    held = workload.input_tokens.mean + workload.output_tokens.mean / 2 + plan.block_size / 2
    return round(plan.workload_concurrency * held / plan.block_size) + 1


def _share(workload: Workload, replicas: int) -> Workload:
    """The requests of one of `replicas` equal replicas."""
    if replicas == 1:
        return workload
    changes: dict[str, Any] = {"num_requests": max(1, workload.num_requests // replicas)}
    if workload.protocol == "closed-loop" and workload.concurrency is not None:
        changes["concurrency"] = max(1, workload.concurrency // replicas)
    elif workload.rate is not None:
        changes["rate"] = workload.rate / replicas
    return workload.replaced(changes)


def _notes(engine: ResolvedEngine, step: StepModel, replicas: int) -> tuple[str, ...]:
    oldest = oldest_simulated()
    notes = {
        f"vLLM {engine.release.name} is scheduled as {oldest}, the oldest whose steps are known": (
            engine.release.version < oldest
        ),
        f"one of {replicas} equal data-parallel replicas is simulated; rates are of all": replicas
        > 1,
        "layers with windows or states: blocks of all their groups are counted as one pool": any(
            cost.window is not None for cost in step.attention
        ),
        f"every step yields {step.acceptance:.2f} tokens of a request with its drafts, the mean; "
        "a timeline counts in such units": step.speculation is not None,
        "speculative decoding is left out: what this method costs and yields is not known": (
            step.speculation is None and optional(engine, "speculative_method", None) is not None
        ),
    }
    return tuple(note for note, applies in notes.items() if applies)
