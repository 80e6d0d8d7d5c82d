"""The diagnose stage: the bottleneck, what to change in order, what to read and measure next."""

from scheduler_reader.diagnose.bottleneck import find_bottleneck
from scheduler_reader.diagnose.next_steps import next_steps
from scheduler_reader.diagnose.tuning import tune

__all__ = ["find_bottleneck", "next_steps", "tune"]
