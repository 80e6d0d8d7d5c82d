"""Least squares of the host constants, with the shipped ones as what is believed beforehand.

Each constant is fitted by its logarithm and held near its shipped value as firmly as that is known
(`PRIORS`), so one run moves what it determines and leaves the rest.  Gauss-Newton, each run simulated
with every set of constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log, sqrt

from scheduler_reader.calibrate.runs import METRICS, Run
from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.calibration import Calibration
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Slo

# How far a constant may be from its shipped value: the standard deviation of its logarithm.
PRIORS = {"step_us": 0.5, "sequence_us": 1.0, "request_ms": 0.7, "kernel_scale": 0.15}
# How exactly the model can follow a run, the same way: TTFT hangs on how a burst happens to fall.
NOISE = {"tpot_ms": 0.03, "ttft_mean_ms": 0.2, "output_tokens_per_s": 0.03}
# Beyond so many of those a deviation is something else than a constant, and counts ever less (Cauchy).
FAR_OFF = 3.0
ROUNDS = 8
SLOPE_STEP = 0.2
FARTHEST = 1.0  # move of a logarithm in one round

Errors = Mapping[str, float]  # metric → predicted / measured - 1


class Fit(Record):
    """The constants, and how far each run is off before and after.

    `determined` is the share of a constant's uncertainty that the runs took away.
    """

    shipped: Calibration
    fitted: Calibration
    determined: Mapping[str, float]
    runs: tuple[Run, ...]
    before: tuple[Errors, ...]
    after: tuple[Errors, ...]


def calibrate(engine: ResolvedEngine, runs: Sequence[Run]) -> Fit:
    """Fit the constants of an engine.  Raises `UsageError` where a run cannot be predicted."""
    shipped = _shipped(engine)
    cases = [(run, plan_capacity(engine, run.workload)) for run in runs]
    point = dict.fromkeys(PRIORS, 0.0)
    before = offs = _errors(engine, shipped, cases)
    matrix: list[list[float]] = []
    for _ in range(ROUNDS):
        slopes, residuals = _slopes(engine, shipped, point, cases), _scaled(offs)
        weights = _weights(residuals)
        matrix = _normal(slopes, weights)
        pulls = list(zip(slopes, residuals, weights, strict=True))
        target = [
            -point[name] / PRIORS[name] ** 2 - sum(w * s[name] * r for s, r, w in pulls)
            for name in PRIORS
        ]
        move = dict(zip(PRIORS, _solve(matrix, target), strict=True))
        better = _better(engine, shipped, point, move, cases, _cost(point, offs))
        if better is None:
            break
        point, offs = better
    determined = {}
    for place, name in enumerate(PRIORS):
        unit = [1.0 if place == other else 0.0 for other in range(len(PRIORS))]
        left = sqrt(max(_solve(matrix, unit)[place], 0.0)) / PRIORS[name]
        determined[name] = max(0.0, 1.0 - left)
    fitted = _moved(shipped, point)
    fitted = replace(fitted, fitted_on=_words(engine, runs))
    return Fit(shipped, fitted, determined, tuple(runs), tuple(before), tuple(offs))


def _shipped(engine: ResolvedEngine) -> Calibration:
    step = build_step_model(engine._replace(calibration=None))
    if isinstance(step, Unknown):
        raise UsageError(f"nothing can be calibrated: {step.reason}")
    host = step.value.host
    return Calibration(
        step_us=host.step_s * 1e6,
        sequence_us=host.sequence_s * 1e6,
        request_ms=step.value.frontend_s * 1e3,
    )


def _moved(shipped: Calibration, point: Mapping[str, float]) -> Calibration:
    return replace(
        shipped, **{name: getattr(shipped, name) * exp(at) for name, at in point.items()}
    )


_Cases = Sequence[tuple[Run, CapacityPlan]]


def _errors(engine: ResolvedEngine, constants: Calibration, cases: _Cases) -> list[Errors]:
    """How far each run's prediction is off."""
    calibrated = engine._replace(calibration=constants)
    found: list[Errors] = []
    for run, plan in cases:
        estimate = simulated_estimate(calibrated, plan, run.workload, Slo())
        if isinstance(estimate, Unknown):
            raise UsageError(f"{run.name}: cannot be predicted: {estimate.reason}")
        if estimate.value.saturated:
            raise UsageError(f"{run.name}: more is offered than is served, so its latencies grow")
        predicted = _values(estimate.value)
        found.append({name: predicted[name] / at - 1 for name, at in run.measured.items()})
    return found


def _values(estimate: PerformanceEstimate) -> dict[str, float]:
    values = (estimate.tpot_ms, estimate.ttft_ms.mean, estimate.output_tokens_per_s)
    return dict(zip(METRICS, values, strict=True))


def _scaled(errors: Sequence[Errors]) -> list[float]:
    """Residuals: logarithms of predicted over measured, by their noise."""
    return [log(1 + off) / NOISE[name] for run in errors for name, off in run.items()]


def _cost(point: Mapping[str, float], errors: Sequence[Errors]) -> float:
    held = sum((at / PRIORS[name]) ** 2 for name, at in point.items())
    return held + sum(
        FAR_OFF**2 * log(1 + (residual / FAR_OFF) ** 2) for residual in _scaled(errors)
    )


def _weights(residuals: Sequence[float]) -> list[float]:
    return [1 / (1 + (residual / FAR_OFF) ** 2) for residual in residuals]


def _slopes(
    engine: ResolvedEngine, shipped: Calibration, point: Mapping[str, float], cases: _Cases
) -> list[dict[str, float]]:
    """How each residual moves with the logarithm of each constant."""
    base = _scaled(_errors(engine, _moved(shipped, point), cases))
    slopes: list[dict[str, float]] = [{} for _ in base]
    for name in PRIORS:
        there = _moved(shipped, {**point, name: point[name] + SLOPE_STEP})
        moved = _scaled(_errors(engine, there, cases))
        for slope, after, before in zip(slopes, moved, base, strict=True):
            slope[name] = (after - before) / SLOPE_STEP
    return slopes


def _normal(slopes: Sequence[Mapping[str, float]], weights: Sequence[float]) -> list[list[float]]:
    return [
        [
            sum(w * slope[row] * slope[column] for slope, w in zip(slopes, weights, strict=True))
            + (1 / PRIORS[row] ** 2 if row == column else 0.0)
            for column in PRIORS
        ]
        for row in PRIORS
    ]


def _better(  # noqa: PLR0917 - the state of one round
    engine: ResolvedEngine,
    shipped: Calibration,
    point: Mapping[str, float],
    move: Mapping[str, float],
    cases: _Cases,
    cost: float,
) -> tuple[dict[str, float], list[Errors]] | None:
    """A point on the way that is worth going to; None where the fit is as good as it gets."""
    longest = max(map(abs, move.values()))
    share = min(1.0, FARTHEST / longest) if longest else 1.0
    for _ in range(3):
        there = {name: at + share * move[name] for name, at in point.items()}
        errors = _errors(engine, _moved(shipped, there), cases)
        if _cost(there, errors) < 0.999 * cost:
            return there, errors
        share /= 3
    return None


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a small symmetric positive definite system (elimination needs no pivots there)."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at, pivot in enumerate(rows):
        for row in rows[at + 1 :]:
            factor = row[at] / pivot[at]
            for column in range(at, len(row)):
                row[column] -= factor * pivot[column]
    found = [0.0] * len(rows)
    for at in reversed(range(len(rows))):
        known = sum(rows[at][after] * found[after] for after in range(at + 1, len(rows)))
        found[at] = (rows[at][-1] - known) / rows[at][at]
    return found


def _words(engine: ResolvedEngine, runs: Sequence[Run]) -> str:
    model = "an unknown model" if isinstance(engine.model_id, Unknown) else engine.model_id.value
    hardware = f"{engine.hardware.count} x {engine.hardware.gpu.title}"
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}"
    return f"{count} of {model}, {hardware}, vLLM {engine.release.name}"
