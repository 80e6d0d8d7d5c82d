"""A scheduling case: engine options, and requests that arrive at given steps.

The format is `{"name", "engine": {...}, "requests": [...]}`.  Engine keys are vLLM's option names,
and `num_gpu_blocks`, `sliding_window`, `num_speculative_tokens`, `accept_cycle`, `max_steps`.
A request is `{"id", "arrival_step", "prompt_len", "output_len", "priority", "prefix_group",
"prefix_len"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.knowledge.flags import flag_table, lifetime
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.behaviour import oldest_simulated
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.request import Request

_OF_THE_CASE = ("num_gpu_blocks", "sliding_window", "num_speculative_tokens")
_OPTIONS = {"policy": "scheduling_policy"}  # keys that differ from the engine argument
_SETTINGS = {field.name: field.type for field in fields(EngineConfig)}
DEFAULT_LENGTH = 8192
DEFAULT_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """A case cut to one release: options that it does not have are left out, as `dropped`."""

    config: EngineConfig
    requests: tuple[Request, ...]
    accept_cycle: tuple[int, ...]  # drafts accepted in a request's first, second, … verification
    max_steps: int
    dropped: tuple[str, ...]


def read_case(text: str, release: Release) -> Case:
    """Read a case; `InputError` when it is no case or has an option that is not simulated.

    `UsageError` for a release older than those whose scheduler is known.
    """
    if release.version < oldest_simulated():
        raise UsageError(
            f"steps are known from vLLM {oldest_simulated()} on, not of {release.name}"
        )
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"the case is no JSON: {error}") from None
    try:
        engine, rows = dict(data["engine"]), list(data["requests"])
        max_steps = int(engine.pop("max_steps", DEFAULT_STEPS))
        cycle = engine.pop("accept_cycle", None) or [engine.get("num_speculative_tokens") or 0]
        config, dropped = _config(engine, release)
        requests = tuple(_request(number, row) for number, row in enumerate(rows))
        return Case(config, requests, tuple(map(int, cycle)), max_steps, dropped)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the case lacks or misstates a field: {error!r}") from None


def _config(engine: Mapping[str, Any], release: Release) -> tuple[EngineConfig, tuple[str, ...]]:
    settings: dict[str, Any] = {"max_model_len": DEFAULT_LENGTH}
    dropped = []
    table = flag_table(release)
    for name, value in engine.items():
        argument = _OPTIONS.get(name, name)
        if name not in _OF_THE_CASE and table.argument(argument) is None:
            if lifetime("--" + argument.replace("_", "-")) is None:
                raise InputError(f"engine option {name} is none of vLLM's")
            dropped.append(name)
        elif name not in _SETTINGS:
            raise InputError(f"engine option {name} is not simulated")
        elif value is not None:
            settings[name] = value
    return EngineConfig(**settings), tuple(dropped)


def _request(number: int, row: Mapping[str, Any]) -> Request:
    prompt, output = int(row["prompt_len"]), int(row["output_len"])
    if prompt < 1 or output < 1:
        raise ValueError(f"request {number}: prompt_len and output_len must be at least 1")
    group = row.get("prefix_group")
    return Request(
        number=number,
        arrival=int(row["arrival_step"]),
        prompt_tokens=prompt,
        max_tokens=output,
        priority=int(row.get("priority") or 0),
        prefix_group=None if group is None else int(group),
        prefix_tokens=0 if group is None else min(int(row.get("prefix_len") or 0), prompt),
    )
