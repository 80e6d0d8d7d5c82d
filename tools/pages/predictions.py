"""Published serving runs beside what `diagnose` predicts for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Unknown, Value
from scheduler_reader.workload import Lengths, Slo, Workload

ROOM = 256  # tokens of max_model_len beyond input and output
SHORTEST = 0.8  # lengths are uniform from this share of the nominal one up to it, if not stated
REQUESTS = 10  # a run sends so many for each that is in flight
GENERATED_BEYOND = 1500  # aiconfigurator's token budget beyond one prompt and its batch

Times = tuple[float, float]  # TTFT, TPOT in milliseconds


class Case(NamedTuple):
    """One published run and its prediction, milliseconds; `predicted` None: none was made.

    `low` and `high` are the ends of the predicted range.  `is_fitted`: a constant saw this run.  A run that
    is not what its label says has `seats`, and its prediction with them in `waves` (see `_in_waves`).
    """

    series: str
    tensor: int
    lengths: tuple[int, int]
    concurrency: int
    measured: Times
    predicted: Times | None
    remark: str
    low: Times | None = None
    high: Times | None = None
    is_fitted: bool = False
    is_moe: bool = False
    shortest: float = SHORTEST
    seats: int | None = None
    waves: Times | None = None

    @property
    def errors(self) -> tuple[float, float, float] | None:
        """Relative errors of TTFT, TPOT and tokens/s."""
        if self.predicted is None:
            return None
        ttft, tpot = (p / m - 1 for p, m in zip(self.predicted, self.measured, strict=True))
        return ttft, tpot, self._duration(self.measured) / self._duration(self.predicted) - 1

    @property
    def is_within(self) -> tuple[bool, bool, bool] | None:
        """Whether measured TTFT, TPOT and tokens/s lie between the ends of the range."""
        if self.low is None or self.high is None:
            return None
        of = [(*times, self._duration(times)) for times in (self.low, self.measured, self.high)]
        ttft, tpot, duration = (sorted(ends)[1] == ends[1] for ends in zip(*of, strict=True))
        return ttft, tpot, duration

    @property
    def gpu(self) -> str:
        return self.series.rsplit(", ", 1)[1]

    @property
    def gaps(self) -> float:
        """Tokens of a request after its first, on average."""
        return (1 + self.shortest) / 2 * self.lengths[1] - 1

    @property
    def duration_ms(self) -> float:
        """Mean time of a request from sending to its last token, as measured."""
        return self._duration(self.measured)

    def _duration(self, times: Times) -> float:
        return times[0] + self.gaps * times[1]


def predicted_cases(document: Mapping[str, Any]) -> list[Case]:
    """Predict every run of a document, started and loaded as its series says."""
    return [_predicted(series, run) for series in document["series"] for run in series["runs"]]


def outdone(case: Case, others: Iterable[Case]) -> str:
    """How a heavier run of the same engine was faster than an engine can be; "" where none was.

    With more requests at once and the same lengths nothing gets shorter (5 % of TPOT and 25 % of TTFT
    are noise).  With longer outputs TPOT may, as prompts are rarer: at most by the prompts of all
    others, each taken as long as the shortest TTFT of such prompts.
    """
    alike = [one for one in others if _engine_of(one) == _engine_of(case)]
    prompt_ms = min(one.measured[0] for one in alike)
    prompts_ms = case.concurrency * prompt_ms / (case.gaps or 1)
    for other in alike:
        load = f"{other.concurrency} concurrent, output {other.lengths[1]:,}"
        said = f"{load}: TTFT {other.measured[0]:,.0f} ms, TPOT {other.measured[1]:.1f} ms"
        ttft, tpot = (o / c for o, c in zip(other.measured, case.measured, strict=True))
        is_same, is_more = other.lengths == case.lengths, other.concurrency > case.concurrency
        if is_same and is_more and (ttft < 0.75 or tpot < 0.95):
            return said
        is_longer = other.lengths[1] > case.lengths[1] and other.concurrency >= case.concurrency
        if is_longer and case.measured[1] > other.measured[1] + prompts_ms:
            return said
    return ""


def error_summary(cases: Sequence[Case]) -> list[str]:
    """How many were answered, and median and 90th percentile of the errors of TTFT, TPOT, tokens/s."""
    errors = [case.errors for case in cases if case.errors is not None]
    answered = str(len(errors)) if len(errors) == len(cases) else f"{len(errors)} of {len(cases)}"
    return [answered, *(_spread([abs(error[at]) for error in errors]) for at in range(3))]


def _spread(errors: list[float]) -> str:
    if not errors:
        return ""
    ordered = sorted(errors)
    middle, tenth = (ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.9))
    return f"{middle:.1%} / {tenth:.1%}"


def _engine_of(case: Case) -> tuple[str, int, int]:
    """What runs have in common whose prompts take the same."""
    return case.series, case.tensor, case.lengths[0]


def _predicted(series: Mapping[str, Any], run: Sequence[float]) -> Case:
    tensor, inputs, outputs, concurrency = (int(number) for number in run[:4])
    shortest = series.get("shortest", SHORTEST)
    load = _load((inputs, outputs), concurrency, REQUESTS * concurrency, shortest)
    engine = _engine(series, run)
    found = _estimate(engine, load)
    case = Case(
        series=f"{series['model']}, {series['vllm']}, {engine.hardware.gpu.title}",
        tensor=tensor,
        lengths=(inputs, outputs),
        concurrency=concurrency,
        measured=(run[4], run[5]),
        predicted=None,
        remark=found.reason if isinstance(found, Unknown) else "",
        is_fitted=tensor in series.get("fitted_tensor", ())
        or inputs in series.get("fitted_input", ()),
        is_moe=not isinstance(engine.model, Unknown) and engine.model.value.is_moe,
        shortest=shortest,
        seats=int(run[6]) if len(run) > 6 else None,
        waves=_in_waves(series, run) if len(run) > 6 else None,
    )
    if isinstance(found, Unknown):
        return case
    estimate = found.value
    return case._replace(
        predicted=_times(estimate),
        remark=next((note for note in estimate.not_modeled if "not simulated" in note), ""),
        low=_times(estimate.low) if estimate.low else None,
        high=_times(estimate.high) if estimate.high else None,
    )


def _in_waves(series: Mapping[str, Any], run: Sequence[float]) -> Times:
    """TTFT and TPOT of a run if the engine had so many seats and the client sent ten times as many
    requests, all that its limit allowed at once.
    """
    _, inputs, outputs, most, *_, seats = (int(number) for number in run)
    load = _load((inputs, outputs), min(most, REQUESTS * seats), REQUESTS * seats)
    found = _estimate(_engine(series, run, ["--max-num-seqs", str(seats)]), load)
    assert not isinstance(found, Unknown), found.reason
    return _times(found.value)


def _load(
    lengths: tuple[int, int],
    concurrency: int,
    requests: int,
    shortest: float = SHORTEST,
) -> Workload:
    inputs, outputs = (Lengths(uniform=(round(shortest * most), most)) for most in lengths)
    return Workload(
        concurrency=concurrency, num_requests=requests, input_tokens=inputs, output_tokens=outputs
    )


def _engine(
    series: Mapping[str, Any], run: Sequence[float], more: Sequence[str] = ()
) -> ResolvedEngine:
    tensor, inputs, outputs, concurrency = (int(number) for number in run[:4])
    arguments = series.get("arguments", "").format(
        concurrency=concurrency, generated_budget=concurrency + inputs + GENERATED_BEYOND
    )
    length = ["--max-model-len", str(inputs + outputs + ROOM)]
    command = [
        "vllm",
        "serve",
        series["model"],
        "-tp",
        str(tensor),
        *length,
        *arguments.split(),
        *more,
    ]
    target = ResolveOptions(series["vllm"], series["gpu"], tensor)
    return resolve(parse_command(command).engines[0], target)


def _estimate(engine: ResolvedEngine, load: Workload) -> Value[PerformanceEstimate]:
    return simulated_estimate(engine, plan_capacity(engine, load), load, Slo())


def _times(estimate: PerformanceEstimate) -> Times:
    return estimate.ttft_ms.mean, estimate.tpot_ms
