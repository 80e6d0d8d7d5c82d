"""The table of memory constants: timelines without gaps, spreads in order, a source for each group."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from scheduler_reader.capacity.constants import Spread, spread, table, value_at
from scheduler_reader.knowledge.versions import Release, releases

TIMELINES = {
    name: entries
    for name, entries in table().items()
    if isinstance(entries, list) and isinstance(entries[0], dict)
}


@pytest.mark.parametrize("name", TIMELINES)
def test_timelines_start_with_the_oldest_release_and_rise(name: str) -> None:
    starts = [Version(entry["since"]) for entry in TIMELINES[name]]
    assert starts[0] == Version(releases()[0])
    assert starts == sorted(set(starts))


def spreads(content: Any) -> list[list[float]]:
    if isinstance(content, dict):
        return [found for value in content.values() for found in spreads(value)]
    if isinstance(content, list) and len(content) == 3 and not isinstance(content[0], dict | str):
        return [content]
    return [found for one in content for found in spreads(one)] if isinstance(content, list) else []


def test_spreads_are_in_order() -> None:
    found = spreads(table())
    assert len(found) >= 10
    for numbers in found:
        assert 0 <= spread(numbers).low <= spread(numbers).best <= spread(numbers).high


def test_a_release_takes_the_last_entry_not_above_it() -> None:
    assert value_at("graphs_in_budget", Release("0.19.1")) is False
    assert value_at("graphs_in_budget", Release("0.20.0")) is True
    assert value_at("graphs_in_budget", Release("0.33.0")) is True


def test_the_larger_of_two_terms_at_each_end() -> None:
    assert Spread.largest(Spread(1, 5, 6), Spread(2, 3, 9)) == Spread(2, 5, 9)
