"""The ways to batch that led to vLLM's, on one workload and one step-time model.

naive: one request at a time.  static: padded windows.  continuous: requests join and leave at
every step, prompts whole.  chunked: the same with long prompts cut into slices, as vLLM does now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from math import ceil, inf

from scheduler_reader.knowledge.versions import Release, latest
from scheduler_reader.record import Record
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.drafts import InUnits, counted, in_tokens, objectives
from scheduler_reader.simulate.metrics import Metrics, measure
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.service import serve
from scheduler_reader.simulate.setup import Setup
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.simulate.traffic import source
from scheduler_reader.simulate.windows import WindowedRun, run_windows
from scheduler_reader.workload import Slo

MOST_RECORDED = 2_000  # requests of a run that keeps a timeline: what a page can draw

# What a caller does with a source before it is run: count its requests, or stop it early.
Watch = Callable[[Source], Source]


class Mode(StrEnum):
    naive = "naive"
    static = "static"
    continuous = "continuous"
    chunked = "chunked"


class ModeRun(Record):
    """One mode's run.  `prefill_s` and `decode_s` share the time inside steps.

    `padding_waste` is the share of the computed tokens that are padding.
    """

    mode: Mode
    result: SimulationResult
    metrics: Metrics
    output_tokens: int  # of one replica
    padding_waste: float
    prefill_s: float
    decode_s: float
    decode_seqs: float  # sequences that a step decodes, on average
    notes: tuple[str, ...] = ()


class Bounds(Record):
    """The requests that a replica gets: how many, the longest prompt, the longest whole one."""

    requests: int
    prompt_tokens: int
    request_tokens: int
    refused: int = 0  # never sent: longer than the model takes


def bounds_of(setup: Setup) -> Bounds:
    """Go through all requests once; none is kept."""
    count, prompt, request = 0, 1, 1
    requests = source(setup.workload, setup.config.max_model_len)
    while not requests.is_exhausted:
        if requests.next_s == inf:
            requests.finished(0.0)
        arrival = requests.take()
        count += 1
        prompt = max(prompt, arrival.prompt_tokens)
        request = max(request, arrival.prompt_tokens + arrival.output_tokens)
    return Bounds(count, prompt, request, setup.workload.num_requests - count)


def run_mode(
    mode: Mode,
    setup: Setup,
    bounds: Bounds,
    slo: Slo,
    watch: Watch = lambda requests: requests,
) -> ModeRun:
    """Run one mode on the workload of a setup.  Rates are those of all replicas."""

    drafted, unit = setup, setup.step_model.acceptance
    setup = counted(setup)

    def requests() -> Source:
        length = drafted.config.max_model_len
        sent = watch(source(setup.workload, length, drafted.ramp_s, setup.frontend_s))
        return InUnits(sent, unit) if unit > 1 else sent

    record = bounds.requests <= MOST_RECORDED
    if mode is Mode.naive:
        length = setup.config.max_model_len
        run = run_windows(
            setup.config, setup.step_model, requests(), most=1, reserves=length, record=record
        )
        return _windowed(mode, run, setup, slo)
    if mode is Mode.static:
        seats = setup.config.active_limit
        run = run_windows(setup.config, setup.step_model, requests(), most=seats, record=record)
        return _windowed(mode, run, setup, slo)
    notes: tuple[str, ...] = ()
    if mode is Mode.chunked:
        config, release = replace(setup.config, enable_chunked_prefill=True), setup.release
    else:
        longest = bounds._replace(request_tokens=ceil(bounds.request_tokens / unit) + 1)
        config, release, notes = unchunked(setup, longest if unit > 1 else bounds)
    if record:
        result = run_stepwise(
            config,
            release,
            setup.step_model,
            requests(),
            record_phases=True,
            record_samples=True,
        )
    else:
        result = serve(config, release, setup.step_model, requests)
    return _served(mode, result, setup, slo, notes)


def unchunked(setup: Setup, bounds: Bounds) -> tuple[EngineConfig, Release, tuple[str, ...]]:
    """The engine with whole prompts: the smallest change of the configured one that can do it.

    The budget must hold the longest request, and some releases cannot do it at all: there the
    newest one's way is shown.
    """
    budget = max(setup.config.max_num_batched_tokens, bounds.request_tokens)
    config = replace(
        setup.config,
        enable_chunked_prefill=False,
        long_prefill_token_threshold=0,
        max_num_batched_tokens=budget,
        max_model_len=bounds.request_tokens,
    )
    release, notes = setup.release, []
    if behaviour_of(release).unchunked_prefill == "impossible":
        notes.append(
            f"vLLM {release.name} cannot turn chunked prefill off: shown as {latest().name} does it"
        )
        release = latest()
    if budget > setup.config.max_num_batched_tokens:
        notes.append(f"without chunks the token budget must hold the longest request: {budget:,}")
    return config, release, tuple(notes)


def _windowed(mode: Mode, run: WindowedRun, setup: Setup, slo: Slo) -> ModeRun:
    waste = 1 - run.filled_slots / run.reserved_slots if run.reserved_slots else 0.0
    padding = 1 - run.useful_tokens / run.computed_tokens if run.computed_tokens else 0.0
    unit = setup.step_model.token_unit
    objective = objectives(slo, unit)
    metrics = measure(run.result, objective, frontend_s=setup.frontend_s, kv_waste=waste)
    return ModeRun(
        mode=mode,
        result=run.result,
        metrics=in_tokens(metrics, unit).times(setup.replicas),
        output_tokens=_in_tokens(run.output_tokens, metrics.finished, unit),
        padding_waste=padding,
        prefill_s=run.prefill_s,
        decode_s=run.decode_s,
        decode_seqs=(run.output_tokens - metrics.finished) / max(run.result.steps, 1),
    )


def _served(
    mode: Mode, result: SimulationResult, setup: Setup, slo: Slo, notes: tuple[str, ...]
) -> ModeRun:
    """Decode is what the steps would take with their mean batch alone; prefill is the rest."""
    unit = setup.step_model.token_unit
    metrics = measure(result, objectives(slo, unit), frontend_s=setup.frontend_s)
    tokens = decoded = looked_back = 0
    for record in result.records:
        output = record.output_tokens
        tokens += output
        decoded += max(output - 1, 0)
        looked_back += output * (2 * record.prompt_tokens + output)
    seqs = decoded / max(result.steps, 1)
    context = looked_back / 2 / max(tokens, 1)
    decode_s = result.steps * setup.step_model.step_seconds(seqs, seqs * context)
    decode_s = min(decode_s, result.busy_s)
    return ModeRun(
        mode=mode,
        result=result,
        metrics=in_tokens(metrics, unit).times(setup.replicas),
        padding_waste=0.0,
        output_tokens=_in_tokens(tokens, metrics.finished, unit),
        prefill_s=result.busy_s - decode_s,
        decode_s=decode_s,
        decode_seqs=seqs,
        notes=notes,
    )


def _in_tokens(units: int, requests: int, unit: float) -> int:
    """Output tokens of a run in units: the first of each request is one token."""
    return round(requests + (units - requests) * unit)
