"""The performance stage: step time from measured kernel efficiencies, and what a workload gets."""

from scheduler_reader.performance.closed_form import (
    estimate_out_of_step,
    estimate_performance,
    expected_performance,
    is_in_step,
    operating_estimate,
)

__all__ = [
    "estimate_out_of_step",
    "estimate_performance",
    "expected_performance",
    "is_in_step",
    "operating_estimate",
]
