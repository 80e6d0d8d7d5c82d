"""Shortened outputs: the lines of a page found again in what a command prints now."""

from __future__ import annotations

import re

LEFT_OUT = "…"
_MOVES = re.compile(r"[\d.,]*\d|[█▉▊▋▌▍▎▏]+|(?<!\S)[A-Z.|]{20,}(?!\S)|\s+")  # figures, bars, gaps


def excerpt(shown: list[str], printed: list[str]) -> list[str]:
    """The shown lines with today's figures: each is the next printed line that differs in figures only.

    Without a line `…` the output is shown whole.  ValueError names a line that is no longer printed.
    """
    if LEFT_OUT not in shown:
        return printed
    found: list[str] = []
    at = 0
    for line in shown:
        if line == LEFT_OUT:
            found.append(line)
            continue
        ahead = printed[at:] if found[-1:] == [LEFT_OUT] else printed[at : at + 1]
        steps = next((i for i, other in enumerate(ahead) if _shape(other) == _shape(line)), None)
        if steps is None:
            raise ValueError(f"it no longer prints, after line {at}: {line}")
        at += steps + 1
        found.append(printed[at - 1])
    if found[-1] != LEFT_OUT and at < len(printed):
        raise ValueError(f"it prints more: {printed[at]}")
    return found


def _shape(line: str) -> str:
    return _MOVES.sub(" ", line).strip()
