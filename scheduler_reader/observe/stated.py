"""Figures that a user observed and states by hand: from a dashboard, a ticket, a line of a chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduler_reader.errors import UsageError
from scheduler_reader.observe.measures import MEASURES, number
from scheduler_reader.value import Known, Origin

SOURCE = "stated by the user"
ORIGIN = Origin("option", f"{SOURCE} (--observed)")
SHARES = ("kv_cache_usage", "prefix_cache_hit_rate")


def read_stated(options: Iterable[str]) -> dict[str, Known[float]]:
    """The measures of `--observed NAME=VALUE`; a share may be written as `97%`.

    Raises `UsageError`, in one line, for an unknown name or a value that the measure cannot have.
    """
    stated: dict[str, Known[float]] = {}
    for option in options:
        name, sign, text = (part.strip() for part in option.partition("="))
        if not sign:
            raise UsageError(f"--observed {option}: write NAME=VALUE, such as itl_p99_ms=900")
        stated[name] = checked_measure(name, _value(name, text))
    return stated


def stated_measures(figures: Mapping[str, float]) -> dict[str, Known[float]]:
    """The same from numbers by name; raises the same."""
    return {name: checked_measure(name, value) for name, value in figures.items()}


def checked_measure(name: str, value: object) -> Known[float]:
    """One figure; `UsageError` says what is wrong with its name or value."""
    if name not in MEASURES:
        raise UsageError(f"observed: no measure {name}{_nearest(name)}")
    figure = number(value)
    if figure is None or figure < 0:
        raise UsageError(f"observed: {name}: takes a number of 0 or more, not {value}")
    if name in SHARES and figure > 1:
        raise UsageError(f"observed: {name}: is a share of at most 1 (or 100%), not {value}")
    return Known(figure, ORIGIN)


def _value(name: str, text: str) -> object:
    """The number that a text says; the text itself where it is none."""
    percent = text.endswith("%") and name in SHARES
    try:
        figure = float(text.removesuffix("%") if percent else text)
    except ValueError:
        return text
    return figure / 100 if percent else figure


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [*MEASURES], n=4, cutoff=0.5)
    return f"; nearest: {', '.join(close)}" if close else "; docs/observation.md lists them"
