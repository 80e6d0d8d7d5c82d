"""What a search is for: goodput under the SLO, throughput, or the latency tails.

A score is a logarithm, so that a difference of 0.03 is a gain of 3 %.  The other figures decide
among equals with a small weight: of two settings with the same throughput the quicker one wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import log, sqrt
from typing import TypeAlias

from scheduler_reader.diagnosis.objective import NOTHING, Gain
from scheduler_reader.record import Record

Figures: TypeAlias = Mapping[str, float | None]

WORTH_CHANGING = 0.03  # the smallest predicted gain that is worth a restart
WORTH_A_RISK = 0.1  # the same for what only moves the tails
KEPT = 0.99  # of the rate, where only the tails are to be had
_AMONG_EQUALS = 0.02
_UNBOUNDED_MS = 1e7  # stands for the tail of a saturated load


class Aim(StrEnum):
    goodput = "goodput"
    throughput = "throughput"
    latency = "latency"


class Objective(Record):
    """`least_per_s`: output tokens a second that are not given up for a shorter tail."""

    aim: Aim
    least_per_s: float = 0.0

    @property
    def worth(self) -> float:
        """The smallest gain that a change is proposed for."""
        return WORTH_A_RISK if self.aim is Aim.latency else WORTH_CHANGING

    def score(self, figures: Figures) -> float:
        """Larger is better; minus infinity where there are no figures."""
        if not figures:
            return float("-inf")
        tokens, tail_ms = _known(figures, "output_tokens_per_s"), tail(figures)
        if self.aim is Aim.latency:
            missing = max(0.0, log(self.least_per_s / tokens)) if self.least_per_s else 0.0
            return -log(tail_ms) - 100 * missing + _AMONG_EQUALS * log(tokens)
        least = _AMONG_EQUALS * (log(tokens) - log(tail_ms))
        if self.aim is Aim.goodput:
            nothing = NOTHING * _known(figures, "requests_per_s")
            return log(max(_known(figures, "goodput_requests_per_s"), nothing)) + least
        return log(tokens) - _AMONG_EQUALS * log(tail_ms)

    def gain(self, before: Figures, after: Figures) -> Gain:
        """What the objective's own metric gains; positive is better."""
        if self.aim is Aim.latency:
            old, new = tail(before), tail(after)
            return Gain("tail_p99_ms", old, new, old / new - 1)
        metric = METRICS[self.aim]
        old, new = _known(before, metric), _known(after, metric)
        base = max(old, NOTHING * _known(before, "requests_per_s"))
        return Gain(metric, old, new, (new - old) / base)


METRICS = {Aim.goodput: "goodput_requests_per_s", Aim.throughput: "output_tokens_per_s"}


def tail(figures: Figures) -> float:
    """Geometric mean of the 99th percentiles of TTFT (without a start-up burst) and ITL, ms.

    A per cent of either counts alike.  Outputs of one token have no ITL.
    """
    first_ms = figures.get("steady_ttft_p99_ms") or figures.get("ttft_p99_ms")
    gap_ms = figures.get("itl_p99_ms")
    if first_ms is None:
        return _UNBOUNDED_MS
    return sqrt(max(first_ms, 1e-3) * (gap_ms or 1.0))


def _known(figures: Figures, name: str) -> float:
    value = figures.get(name)
    return 1e-9 if value is None else max(value, 1e-9)
