"""Resolve: every setting with the value that vLLM release will run with, and where it comes from."""

from scheduler_reader.resolve.options import ResolveOptions
from scheduler_reader.resolve.resolution import resolve

__all__ = ["ResolveOptions", "resolve"]
