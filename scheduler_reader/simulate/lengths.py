"""Draw token counts from a workload's length distributions, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from math import log, sqrt
from random import Random

from scheduler_reader.workload import Lengths


def draw(lengths: Lengths, random: Random) -> Iterator[int]:
    """Endless token counts, whole and at least 1: what a law gives below that is cut off there."""
    if lengths.constant is not None:
        return repeat(lengths.constant)
    if lengths.uniform is not None:
        return _uniform(*lengths.uniform, random)
    if lengths.normal is not None:
        return _normal(lengths.normal["mean"], lengths.normal["std"], random)
    assert lengths.lognormal is not None
    return _lognormal(lengths.lognormal["mean"], lengths.lognormal["std"], random)


def _uniform(low: int, high: int, random: Random) -> Iterator[int]:
    while True:
        yield random.randint(low, high)


def _normal(mean: float, std: float, random: Random) -> Iterator[int]:
    while True:
        yield max(1, round(random.gauss(mean, std)))


def _lognormal(mean: float, std: float, random: Random) -> Iterator[int]:
    """Mean and deviation are those of the lengths, not of their logarithms."""
    variance = log(1 + (std / mean) ** 2)
    middle = log(mean) - variance / 2
    while True:
        yield max(1, round(random.lognormvariate(middle, sqrt(variance))))
