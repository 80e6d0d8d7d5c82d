"""The diagnose stage: the bottleneck, what to change in order, what to read and measure next."""

from scheduler_reader.diagnosis.bottleneck import find_bottleneck
from scheduler_reader.diagnosis.next_steps import next_steps
from scheduler_reader.diagnosis.tuning import tune

__all__ = ["find_bottleneck", "next_steps", "tune"]
