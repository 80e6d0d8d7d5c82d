"""One workload on one engine in several modes: what `simulate` shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from scheduler_reader.record import Record
from scheduler_reader.simulate.arrivals import Source
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.comparison import sentences
from scheduler_reader.simulate.modes import (
    MOST_RECORDED,
    Bounds,
    Mode,
    ModeRun,
    bounds_of,
    run_mode,
)
from scheduler_reader.simulate.setup import Setup
from scheduler_reader.workload import Slo

OVERLOAD = 0.05  # share of the offered rate by which the queue must grow to be called that
NOTICEABLE = 0.02  # difference of hit rates that is worth a note


class Study(Record):
    """The runs of a setup, in the order of the modes.  `is_interrupted`: the last one was cut short."""

    setup: Setup
    slo: Slo
    bounds: Bounds
    runs: tuple[ModeRun, ...]
    is_interrupted: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where the gaps between the modes come from."""
        return sentences(self.runs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about these numbers."""
        notes = list(self.setup.notes)
        for run in self.runs:
            notes += [f"{run.mode}: {note}" for note in run.notes]
            notes += [*_stuck(run, self.setup), *_overload(run, self.setup)]
        notes += self._hit_rate()
        if self.bounds.refused:
            notes.append(
                f"{self.bounds.refused:,} of {self.bounds.requests + self.bounds.refused:,} requests "
                f"are never sent: their prompts leave no room in max_model_len "
                f"({self.setup.config.max_model_len:,}), vLLM answers them with an error"
            )
        if self.bounds.requests > MOST_RECORDED:
            notes.append(f"no timeline is kept of more than {MOST_RECORDED:,} requests")
        if self.is_interrupted and self.runs:
            last = self.runs[-1]
            served = f"{last.metrics.finished:,} of {self.bounds.requests:,} requests"
            notes.append(f"interrupted: {last.mode} served {served}, and no further mode was run")
        return tuple(notes)

    def _hit_rate(self) -> list[str]:
        stated = self.setup.workload.expected_hit_rate
        if not stated or not self.runs or not self.setup.config.enable_prefix_caching:
            return []
        reached = self.runs[-1].metrics.prefix_hit_rate
        if abs(reached - stated) < NOTICEABLE:
            return []
        return [
            f"prefix cache: {reached:.0%} of the prompt tokens were found, {stated:.0%} are stated "
            "(a conversation's first prompt misses, as does what outgrows those before it or was evicted)"
        ]


def study(
    setup: Setup,
    slo: Slo,
    modes: Sequence[Mode],
    watch: Callable[[Mode, Source], Source] = lambda _, requests: requests,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Study:
    """Run the modes one after the other, until `is_stopped`; `watch` wraps each one's source."""
    bounds = bounds_of(setup)
    runs: list[ModeRun] = []
    for mode in modes:
        runs.append(run_mode(mode, setup, bounds, slo, partial(watch, mode)))
        if is_stopped():
            break
    return Study(setup, slo, bounds, tuple(runs), is_stopped())


def _overload(run: ModeRun, setup: Setup) -> list[str]:
    """Whether an open loop offers more than the mode serves."""
    offered = (setup.workload.rate or 0.0) * setup.replicas
    growth = run.metrics.queue_growth_per_s
    if setup.workload.protocol == "closed-loop" or growth < OVERLOAD * offered:
        return []
    return [
        f"{run.mode}: offered {offered:.3g} requests/s, served {run.metrics.requests_per_s:.3g}: the "
        f"queue grows by {growth:.2g} a second, so latencies say how long the run was, nothing else"
    ]


def _stuck(run: ModeRun, setup: Setup) -> list[str]:
    """Why requests were left: one is longer than all KV blocks together."""
    if not run.result.unfinished or run.mode in (Mode.naive, Mode.static):
        return []
    usable = run.result.num_blocks - 1
    left = set(run.result.unfinished)
    for record in run.result.records:
        blocks = -(-(record.prompt_tokens + 1) // run.result.block_size)
        if record.number in left and record.finished_s is None and blocks > usable:
            break
    else:
        return [f"{run.mode}: {len(left):,} requests are left that no step can schedule"]
    waits = behaviour_of(setup.release).reserves_known_tokens
    does = "lets it wait for ever" if waits else "computes what fits of it again and again"
    return [
        f"{run.mode}: {len(left):,} requests never finish: request {record.number} needs {blocks:,} "
        f"KV blocks and there are {usable:,}; vLLM {does}, without an error, and all behind it wait"
    ]
