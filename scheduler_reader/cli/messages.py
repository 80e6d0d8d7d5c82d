"""What is said beside the data, on stderr: one line each, without secrets or control characters."""

from __future__ import annotations

import sys


def tell(message: str) -> None:
    """Print `sched-reader: message` to stderr; the message may quote files that others wrote."""
    from scheduler_reader.privacy import mask, printable

    print(printable(mask(f"sched-reader: {message}")), file=sys.stderr)
