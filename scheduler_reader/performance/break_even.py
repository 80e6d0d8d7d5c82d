"""What drafts gain a load, and from how many running requests on they cost more than they yield."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scheduler_reader.performance.estimate import SpeculationEffect
from scheduler_reader.performance.steady import Replica


def speculation_effect(
    replica: Replica, residents: float, seats: float
) -> SpeculationEffect | None:
    """The effect with so many requests running, of `seats` at most; None where nothing is drafted.

    The engine without drafts is taken to have the same KV blocks.
    """
    spec = replica.step.speculation
    if spec is None:
        return None
    host = spec.undrafted_host or replica.step.host
    plain = replica._replace(step=replace(replica.step, speculation=None, host=host))

    def speedup(running: float) -> float:
        return replica.flow(running).requests_per_s / plain.flow(running).requests_per_s

    accepted = spec.acceptance
    return SpeculationEffect(
        method=spec.method,
        drafts=spec.drafts,
        acceptance_length=(accepted.low, accepted.best, accepted.high),
        is_stated=spec.is_stated,
        speedup=speedup(max(residents, 1.0)),
        break_even_concurrency=first_below(speedup, int(seats)),
    )


def first_below(speedup: Callable[[float], float], most: int) -> int | None:
    """The smallest whole number up to `most` where a falling function is below 1, to a sixteenth."""
    if speedup(most) >= 1:
        return None
    low, high = 0, most
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        if speedup(middle) < 1:
            high = middle
        else:
            low = middle
    return high
