"""Fit the few host constants of the prediction to a user's own benchmark runs."""

from scheduler_reader.calibrate.fit import Fit, calibrate
from scheduler_reader.calibrate.runs import Run, runs_of

__all__ = ["Fit", "Run", "calibrate", "runs_of"]
