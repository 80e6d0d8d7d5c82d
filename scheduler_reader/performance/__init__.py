"""The performance stage: step time from measured kernel efficiencies, and what a workload gets."""

from scheduler_reader.performance.closed_form import (
    estimate_performance,
    expected_performance,
    operating_estimate,
)

__all__ = ["estimate_performance", "expected_performance", "operating_estimate"]
