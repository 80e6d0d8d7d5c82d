"""Recorded request traces: when requests came, how long they were, what they had in common."""

from __future__ import annotations

from scheduler_reader.traces.read import TraceRow, read_trace
from scheduler_reader.traces.shape import TraceShape, measure

__all__ = ["TraceRow", "TraceShape", "measure", "read_trace"]
