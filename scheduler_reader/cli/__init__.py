"""The command line: options in, exit code out.  The only place that prints or exits."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `sched-reader` console script."""
