"""Hold what the closed form says of lifted limits against simulated runs.

The closed form screens all lifts, dozens in a few milliseconds.  Of each default the best one is
then run, so that the gains are those of the performance that is printed beside them.
"""

from __future__ import annotations

from scheduler_reader.diagnosis.lifts import Evaluate, Lifted
from scheduler_reader.diagnosis.objective import (
    GOODPUT,
    UNCHANGED,
    WORTH_NAMING,
    Gain,
    Measure,
    are_far_apart,
    goodput_gain,
)
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Value
from scheduler_reader.workload import Slo, Workload

MANY_TIMES = 10.0  # a gain beyond it is said to be one of many times: how many tells nothing


class Judged(Record):
    """A lifted limit and what it gains; `screened` is what the closed form gives, where `gain` is
    that of a run.
    """

    limit: Lifted
    gain: Gain
    screened: Gain | None = None

    @property
    def is_refuted(self) -> bool:
        """Whether the closed form would name this limit and the run does not."""
        screened = self.screened
        if screened is None or screened.metric != self.gain.metric:
            return False
        return screened.gain >= WORTH_NAMING > self.gain.gain


class Simulator:
    """Runs of lifted limits, each made once.  `base` is the run of the engine as it is.

    `evaluate` returns an Unknown where a run cannot be made or would be long.
    """

    def __init__(self, base: PerformanceEstimate, evaluate: Evaluate) -> None:
        self.base = base
        self._evaluate = evaluate
        self._runs: dict[str, Value[PerformanceEstimate]] = {}

    def confirmed(self, judged: Judged, measure: Measure, workload: Workload, slo: Slo) -> Judged:
        """The gain of a run; of a limit that gains next to nothing or cannot be run, the closed
        form's gain on the simulated base.

        Goodput near zero has no gain that carries over: the closed form's own figure bounds it.
        Nor has it where closed form and run are far apart: then every limit is run.
        """
        limit, screened = judged.limit, judged.gain
        same = measure(self.base, self.base)
        is_goodput = screened.metric == same.metric == GOODPUT
        is_apart = is_goodput and are_far_apart(screened.before, same.before)
        if screened.gain >= UNCHANGED or (is_apart and limit.binds):
            run = self._run(limit, workload, slo)
            if isinstance(run, Known):
                return Judged(limit, measure(self.base, run.value), screened)
            if measure is goodput_gain and screened.metric == same.metric:
                bound = measure(self.base, limit.estimate)
                carried = _carried(same, screened)
                return Judged(limit, carried if 0 < carried.after < bound.after else bound)
        if screened.metric != same.metric:
            return Judged(limit, same)
        return Judged(limit, _carried(same, screened))

    def _run(self, limit: Lifted, workload: Workload, slo: Slo) -> Value[PerformanceEstimate]:
        if limit.limit not in self._runs:
            self._runs[limit.limit] = self._evaluate(limit.engine, limit.plan, workload, slo)
        return self._runs[limit.limit]


def _carried(same: Gain, screened: Gain) -> Gain:
    """The closed form's gain on another value of the metric."""
    factor = 1 + screened.gain
    after = same.before / factor if same.metric.endswith("_ms") else same.before * factor
    return same._replace(after=after, gain=screened.gain)


def sentences(judged: tuple[Judged, ...]) -> tuple[str, ...]:
    """Which gains are of runs and which in closed form, and where the two disagree."""
    refuted = tuple(
        f"in closed form {one.limit.limit}, lifted, gains {_told(one.screened.gain)}, in a run "
        f"{one.gain.gain:.0%}: the run decides"
        for one in judged
        if one.screened is not None and one.is_refuted
    )
    run = ", ".join(one.limit.limit for one in judged if one.screened is not None)
    not_run = ", ".join(one.limit.limit for one in judged if one.screened is None)
    ways = {"gains by simulation": run, "in closed form": not_run}
    says = "; ".join(f"{way}: {limits}" for way, limits in ways.items() if limits)
    return (*refuted, says if run else f"gains {says}")


def _told(gain: float) -> str:
    """A gain in words; of next to nothing a multiple says no more than that it is large."""
    return f"{gain:.0%}" if gain < MANY_TIMES else f"more than {MANY_TIMES:.0%}"
