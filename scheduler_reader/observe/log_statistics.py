"""What an engine prints of itself every few seconds: queues, rates and shares.

Queues and shares are those of the last line at which the engine was busy, else of the last line.
Rates and `running_mean` (requests in flight, as in metrics) are means of its busy lines: a line of
an idle engine says nothing of a load.  Data-parallel engines print lines of their own: queues and
rates are summed, shares are their mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from scheduler_reader.knowledge.log_lines import log_lines
from scheduler_reader.observe.log_text import Line
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin

QUEUES = ("running", "waiting")
RATES = ("prompt_tokens_per_s", "output_tokens_per_s")
PERCENTS = {
    "kv_cache_percent": "kv_cache_usage",
    "prefix_cache_hit_percent": "prefix_cache_hit_rate",
}


class _Printed(Record):
    """The numbers of one line."""

    line: int
    numbers: Mapping[str, float]

    @property
    def is_busy(self) -> bool:
        return any(self.numbers.get(name, 0) > 0 for name in (*QUEUES, *RATES))


def is_statistics(text: str) -> bool:
    """Whether a line is one of those that are printed every few seconds."""
    return any(pattern.search(text) for pattern in log_lines().statistics)


def statistics_measures(lines: Sequence[Line], path: str) -> dict[str, Known[float]]:
    """Measures by names of `MEASURES`; none where an engine printed no such line."""
    engines: dict[str, list[_Printed]] = defaultdict(list)
    for engine, printed in _printed(lines):
        of_one = engines[engine]
        if of_one and "running" not in printed.numbers:  # the second line of V0
            of_one[-1] = _Printed(of_one[-1].line, {**of_one[-1].numbers, **printed.numbers})
        else:
            of_one.append(printed)
    busy = [[printed for printed in of_one if printed.is_busy] for of_one in engines.values()]
    last_lines = [
        of_one or engine[-1:] for of_one, engine in zip(busy, engines.values(), strict=True)
    ]
    found: dict[str, Known[float]] = {}

    def put(name: str, of_engines: list[tuple[float, int]], *, mean: bool = False) -> None:
        if of_engines:
            values = [value for value, _ in of_engines]
            origin = Origin("file", path=path, line=max(line for _, line in of_engines))
            found[name] = Known(fmean(values) if mean else sum(values), origin)

    for name in RATES:
        put(name, [mean for of_one in busy for mean in _mean(of_one, name)])
    for name in QUEUES:
        put(name, [last for of_one in last_lines for last in _last(of_one, name)])
    put("running_mean", [mean for of_one in busy for mean in _mean(of_one, "in_flight")])
    put(
        "preemptions",
        [each for of_one in engines.values() for each in _each(of_one, "preemptions")],
    )
    if len(engines) > 1:
        put("engines", [(1.0, of_one[0].line) for of_one in engines.values()])
    for percent, name in PERCENTS.items():
        shares = [last for of_one in last_lines for last in _last(of_one, percent)]
        put(name, [(value / 100, line) for value, line in shares], mean=True)
    return found


def _printed(lines: Sequence[Line]) -> Iterator[tuple[str, _Printed]]:
    """The engine's number and what it printed."""
    for line in lines:
        for pattern in log_lines().statistics:
            match = pattern.search(line.text)
            if match is None:
                continue
            words = match.groupdict()
            engine = words.pop("engine", None) or "000"
            numbers = {name: float(word) for name, word in words.items() if word is not None}
            if "waiting" in numbers:  # V0 counts swapped requests apart; they wait as well
                numbers["waiting"] += numbers.pop("swapped", 0.0)
                numbers["in_flight"] = numbers["running"] + numbers["waiting"]
            yield engine, _Printed(line.number, numbers)
            break


def _each(of_one: Sequence[_Printed], name: str) -> list[tuple[float, int]]:
    """All numbers of that name, with their lines."""
    return [(one.numbers[name], one.line) for one in of_one if name in one.numbers]


def _last(of_one: Sequence[_Printed], name: str) -> list[tuple[float, int]]:
    """The last number of that name and its line; empty where there is none."""
    return _each(of_one, name)[-1:]


def _mean(of_one: Sequence[_Printed], name: str) -> list[tuple[float, int]]:
    """The mean of all numbers of that name and the last one's line; empty where there is none."""
    found = _each(of_one, name)
    return [(fmean(value for value, _ in found), found[-1][1])] if found else []
