"""A simulated workload for people and machines: table, timelines, plots, JSON."""

from __future__ import annotations
