"""What drafts gain a load, and from how many running requests on they cost more than they yield."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scheduler_reader.performance.estimate import SpeculationEffect
from scheduler_reader.performance.steady import Replica
from scheduler_reader.performance.step import StepModel

GRID = 4  # the loads that are looked at first are this factor apart


def speculation_effect(
    replica: Replica, residents: float, seats: float
) -> SpeculationEffect | None:
    """The effect with so many requests running, of `seats` at most; None where nothing is drafted.

    The engine without drafts is taken to have the same KV blocks.
    """
    step, spec = replica.step, replica.step.speculation
    if spec is None:
        return None
    host = spec.undrafted_host or step.host
    plain = replica._replace(step=replace(step, speculation=None, host=host))

    def speedup(running: float, drafting: StepModel = step) -> float:
        with_drafts = replica._replace(step=drafting).flow(running)
        return with_drafts.requests_per_s / plain.flow(running).requests_per_s

    accepted, running = spec.acceptance, max(residents, 1.0)
    return SpeculationEffect(
        method=spec.method,
        drafts=spec.drafts,
        acceptance_length=(accepted.low, accepted.best, accepted.high),
        is_stated=spec.is_stated,
        speedup=speedup(running),
        speedup_range=(
            speedup(running, step.drafting_end("slow")),
            speedup(running, step.drafting_end("fast")),
        ),
        break_even_concurrency=first_below(speedup, int(seats)),
    )


def first_below(speedup: Callable[[float], float], most: int) -> int | None:
    """The smallest whole number, to a sixteenth, from which on up to `most` a function is below 1;
    None where it is not below 1 at `most`.

    With experts the function may fall, rise and fall: few drafts add many experts, many add none.
    """
    if speedup(most) >= 1:
        return None
    low, high = 0, most
    while low == 0 and high > 1:
        load = max(1, high // GRID)
        if speedup(load) < 1:
            high = load
        else:
            low = load
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        if speedup(middle) < 1:
            high = middle
        else:
            low = middle
    return high
