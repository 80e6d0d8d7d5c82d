"""The runs a calibration is fitted to: a load, and what its client measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.observe.bench import Benchmark
from scheduler_reader.record import Record
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Workload

METRICS = ("tpot_ms", "ttft_mean_ms", "output_tokens_per_s")


class Run(Record):
    """One run: its load, and measured values by names of `METRICS`."""

    name: str
    workload: Workload
    measured: Mapping[str, float]


def runs_of(benchmark: Benchmark) -> Run:
    """The run of a result file.

    Every request is taken to have the mean lengths.  Raises `UsageError` where load, lengths or
    both latencies are missing.
    """

    def get(name: str) -> float | None:
        value = benchmark.measures.get(name)
        return value.value if isinstance(value, Known) else None

    measured = {name: value for name in METRICS if (value := get(name)) is not None and value > 0}
    prompt, output, requests = map(get, ("input_tokens_mean", "output_tokens_mean", "requests"))
    if prompt is None or output is None or not requests:
        raise UsageError(f"{benchmark.path}: says neither how many requests nor how long they are")
    if "tpot_ms" not in measured and "ttft_mean_ms" not in measured:
        raise UsageError(f"{benchmark.path}: has neither a mean TTFT nor a mean TPOT")
    load: dict[str, Any] = {"protocol": "open-loop", "rate": get("offered_requests_per_s")}
    name = f"{load['rate']:g} requests/s" if load["rate"] else ""
    if not benchmark.is_open_loop:
        concurrency = benchmark.concurrency
        if concurrency is None:
            raise UsageError(f"{benchmark.path}: says neither a rate nor a concurrency")
        load = {"protocol": "closed-loop", "concurrency": max(1, round(concurrency))}
        name = f"{load['concurrency']:,} concurrent"
    hits = get("prefix_cache_hit_rate")
    return Run(
        f"{benchmark.path} ({name})",
        Workload(
            **load,
            num_requests=round(requests),
            input_tokens=Lengths(constant=max(1, round(prompt))),
            output_tokens=Lengths(constant=max(1, round(output))),
            prefix_cache_hit_rate=min(1.0, hits or 0.0),
            acceptance_length=get("acceptance_length"),
        ),
        measured,
    )
