"""What a calibration found: the constants, how sure they are, and how far each run is off."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.calibrate.fit import PRIORS, Fit
from scheduler_reader.report.wording import metric_text, metric_value

UNITS = {
    "step_us": ("host time of a step", "us"),
    "sequence_us": ("host time of a sequence in a step", "us"),
    "request_ms": ("time of a request before the engine", "ms"),
    "kernel_scale": ("time of all kernels, against shipped", "x"),
}
WELL, HARDLY = 0.7, 0.2  # shares of a constant's uncertainty that the runs take away


def render(fit: Fit) -> str:
    """The whole result as text, one line a constant and one a metric of a run."""
    return "\n".join(_lines(fit)) + "\n"


def as_file(fit: Fit) -> str:
    """The file that `--calibration` takes."""
    import yaml

    content = {
        "constants": {name: round(getattr(fit.fitted, name), 4) for name in PRIORS},
        "fitted_on": fit.fitted.fitted_on,
        "runs": [
            {
                "run": run.name,
                "off_before": {name: round(off, 4) for name, off in before.items()},
                "off_after": {name: round(off, 4) for name, off in after.items()},
            }
            for run, before, after in zip(fit.runs, fit.before, fit.after, strict=True)
        ],
    }
    return "# Written by sched-reader calibrate.\n" + yaml.safe_dump(content, sort_keys=False)


def _lines(fit: Fit) -> Iterator[str]:
    yield f"Fitted on {fit.fitted.fitted_on}"
    yield ""
    yield f"{'':<38}{'shipped':>10}{'fitted':>10}"
    for name in PRIORS:
        words, unit = UNITS[name]
        shipped, fitted = (getattr(each, name) for each in (fit.shipped, fit.fitted))
        yield f"{words:<38}{shipped:>10,.2f}{fitted:>10,.2f} {unit}  {_sure(fit.determined[name])}"
    for run, before, after in zip(fit.runs, fit.before, fit.after, strict=True):
        yield ""
        yield f"{run.name}: predicted against measured"
        for name, measured in run.measured.items():
            yield (
                f"  {metric_text(name):<20}{metric_value(name, measured):>12} measured, "
                f"{before[name]:+.1%} off before, {after[name]:+.1%} after"
            )


def _sure(determined: float) -> str:
    if determined >= WELL:
        return "well determined"
    return "hardly determined: about as shipped" if determined < HARDLY else "partly determined"
