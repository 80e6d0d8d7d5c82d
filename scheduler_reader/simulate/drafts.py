"""Runs of an engine that drafts: the run counts in units of the tokens that a step yields.

A decode step then yields one unit of each sequence, as it yields one token without drafts, and the
scheduler's loops stay as they are.  Every step yields the mean; prompts, blocks and lengths are
rounded to units, and what is left of an output after whole steps is carried to the next request.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.simulate.arrivals import Arrival, Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.metrics import Metrics
from scheduler_reader.simulate.setup import Setup
from scheduler_reader.workload import Slo


class InUnits:
    """A source whose requests are counted in units of `unit` tokens."""

    def __init__(self, requests: Source, unit: float) -> None:
        self._requests = requests
        self._unit = unit
        self._carried = 0.0

    @property
    def next_s(self) -> float:
        return self._requests.next_s

    @property
    def is_exhausted(self) -> bool:
        return self._requests.is_exhausted

    def take(self) -> Arrival:
        """The next request: its first token, and a unit for every step after that."""
        arrival = self._requests.take()
        steps = (arrival.output_tokens - 1) / self._unit + self._carried
        self._carried = steps % 1.0
        prompt = max(1, round(arrival.prompt_tokens / self._unit))
        return arrival._replace(
            prompt_tokens=prompt,
            output_tokens=1 + int(steps),
            prefix_tokens=int(arrival.prefix_tokens / self._unit),
        )

    def finished(self, time_s: float) -> None:
        """A request is through at `time_s`."""
        self._requests.finished(time_s)


def counted(setup: Setup) -> Setup:
    """The setup in units; as it is where nothing is drafted.  Its workload stays in tokens."""
    model = setup.step_model
    if model.speculation is None:
        return setup
    seats = min(setup.workload.concurrency or setup.config.active_limit, setup.config.active_limit)
    config = _config(setup.config, model.acceptance, (model.queries - model.acceptance) * seats)
    return setup._replace(config=config, step_model=replace(model, token_unit=model.acceptance))


def objectives(slo: Slo, unit: float) -> Slo:
    """What holds for a gap between units where an objective is on the mean gap between tokens."""
    return slo if slo.tpot_ms is None else slo._replace(tpot_ms=slo.tpot_ms * unit)


def in_tokens(metrics: Metrics, unit: float) -> Metrics:
    """The metrics of a run in units, in tokens.  A gap (ITL) is that between two steps' outputs,
    which is what a streaming client measures; TPOT is by token.
    """
    output = metrics.requests_per_s + (metrics.output_tokens_per_s - metrics.requests_per_s) * unit
    prompt = (metrics.total_tokens_per_s - metrics.output_tokens_per_s) * unit
    return replace(
        metrics,
        tpot_ms=None if metrics.tpot_ms is None else _divided(metrics.tpot_ms, unit),
        output_tokens_per_s=output,
        total_tokens_per_s=prompt + output,
    )


def _config(config: EngineConfig, unit: float, unseen: float) -> EngineConfig:
    """The scheduler's limits in units; `unseen` tokens of a step are drafts that do not pass."""
    block = max(1, round(config.block_size / unit))
    usable = (config.num_gpu_blocks - 1) * config.block_size / unit
    budget = int((config.max_num_batched_tokens - unseen) / unit)
    return replace(
        config,
        block_size=block,
        num_gpu_blocks=int(usable / block) + 1,
        max_num_batched_tokens=max(budget, config.max_num_seqs),
        max_model_len=ceil(config.max_model_len / unit),
        long_prefill_token_threshold=round(config.long_prefill_token_threshold / unit),
    )


def _divided(latency: Latency, unit: float) -> Latency:
    return Latency(*(None if value is None else value / unit for value in latency))  # type: ignore[arg-type]
