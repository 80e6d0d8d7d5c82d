"""Results of load generators: `vllm bench serve --save-result`, guidellm, genai-perf (AIPerf).

Where a measure stands in the file of each tool is data: `compat_matrix/benchmarks.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError
from scheduler_reader.observe.measures import (
    Measures,
    at,
    concurrency_of_client,
    is_open_loop,
    number,
)
from scheduler_reader.observe.text import read_recorded
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Value

TO_MS = {"ms": 1.0, "us": 1e-3, "µs": 1e-3, "ns": 1e-6, "s": 1e3, "sec": 1e3, "seconds": 1e3}
EXPECTED = "a result of vllm bench serve (--save-result), guidellm or genai-perf"


class Benchmark(Record):
    """One run of one load: what a client measured.  `measures` by names of `MEASURES`."""

    path: str
    tool: str
    model: str | None
    measures: Measures

    @property
    def is_open_loop(self) -> bool:
        """Whether requests came at a rate, whatever was still running."""
        return is_open_loop(self.measures)

    @property
    def concurrency(self) -> float | None:
        """Requests that the client kept open: as stated, else all of them at once."""
        return concurrency_of_client(self.measures)


def read_bench(path: str) -> tuple[Benchmark, ...]:
    """The runs of a result file, in file order; several stand in files that were appended to.

    Raises `InputError` with the path when it is no JSON, or of no known tool.
    """
    found = [
        benchmark for document in _json_documents(path) for benchmark in _benchmarks(document, path)
    ]
    if not found:
        raise InputError(f"no known result layout; expected {EXPECTED}", Origin("file", path=path))
    return tuple(found)


def _json_documents(path: str) -> Iterator[Any]:
    """One document, or one after the other (`--append-result`)."""
    text = read_recorded(path, EXPECTED).strip()
    decoder, position = json.JSONDecoder(), 0
    try:
        while position < len(text):
            document, position = decoder.raw_decode(text, position)
            yield document
            while position < len(text) and text[position] in " \t\r\n,":
                position += 1
    except (ValueError, RecursionError) as error:
        line = text.count("\n", 0, getattr(error, "pos", position)) + 1
        raise InputError(
            f"no JSON: {getattr(error, 'msg', 'nested too deeply')}; expected {EXPECTED}",
            Origin("file", path=path, line=line),
        ) from None


def _benchmarks(document: Any, path: str) -> Iterator[Benchmark]:
    if isinstance(document, list):
        for item in document:
            yield from _benchmarks(item, path)
        return
    tools: Mapping[str, Any] = documents("compat_matrix", "benchmarks.yaml")["benchmarks.yaml"][
        "tools"
    ]
    for tool, layout in tools.items():
        runs = at(document, layout["runs"]) if "runs" in layout else [document]
        for run in runs if isinstance(runs, list) else ():
            inner = run
            if layout.get("inside") and isinstance(at(run, layout["inside"]), Mapping):
                inner = {**run, **run[layout["inside"]]}
            if all(at(inner, key) is not None for key in layout["has"]):
                yield Benchmark(path, tool, _model(layout, inner), _measures(layout, inner, path))


def _model(layout: Mapping[str, Any], run: Any) -> str | None:
    for path in layout["model"]:
        found = at(run, path)
        name = found[0] if isinstance(found, list) and found else found
        if isinstance(name, str):
            return name
    return None


def _measures(layout: Mapping[str, Any], run: Any, path: str) -> dict[str, Value[float]]:
    found: dict[str, Value[float]] = {}
    for name, candidates in layout["measures"].items():
        for candidate in candidates:
            value = number(at(run, candidate))
            if value is not None:
                scale = _to_ms(layout, run, candidate) if name.endswith("_ms") else 1.0
                found[name] = Known(value * scale, Origin("file", candidate, path=path))
                break
    _from_requests(run, path, found)
    _from_totals(path, found)
    return found


def _to_ms(layout: Mapping[str, Any], run: Any, candidate: str) -> float:
    """What turns a value into milliseconds, where the tool writes its unit beside it."""
    if "unit" not in layout:
        return 1.0
    unit = at(run, f"{candidate.rpartition('.')[0]}.{layout['unit']}")
    return TO_MS.get(str(unit).lower(), 1.0)


def _from_requests(run: Any, path: str, found: dict[str, Value[float]]) -> None:
    """Means and percentiles from the single requests of `--save-detailed`, where not given."""
    from scheduler_reader.simulate.percentiles import Distribution

    ttfts, itls = run.get("ttfts"), run.get("itls")
    seconds = {
        "ttft": _positive(ttfts) if isinstance(ttfts, list) else [],
        "itl": _positive(gap for gaps in itls if isinstance(gaps, list) for gap in gaps)
        if isinstance(itls, list)
        else [],
    }
    for measure, values in seconds.items():
        latency = Distribution.of(values).latency()
        if latency is None:
            continue
        for part, value in zip(("mean", "p50", "p99"), latency, strict=True):
            origin = Origin("file", f"{measure}s of {len(values):,} values", path=path)
            if value is not None:
                found.setdefault(f"{measure}_{part}_ms", Known(value, origin))


def _positive(values: Iterable[Any]) -> list[float]:
    """The numbers above zero: a request that failed has none."""
    return [value for item in values if (value := number(item)) is not None and value > 0]


def _from_totals(path: str, found: dict[str, Value[float]]) -> None:
    """Mean lengths from totals, and requests in flight by Little's law; totals are taken out."""

    def get(name: str) -> float | None:
        value = found.get(name)
        return value.value if isinstance(value, Known) else None

    def put(name: str, value: float, detail: str) -> None:
        found.setdefault(name, Known(value, Origin("derived", detail, path=path)))

    requests = get("requests")
    for kind in ("input_tokens", "output_tokens"):
        total = get(kind)
        if total is not None and requests:
            put(f"{kind}_mean", total / requests, f"{kind} / requests")
        found.pop(kind, None)
    ttft, gap, length = get("ttft_mean_ms"), get("tpot_ms"), get("output_tokens_mean")
    if ttft is not None and gap is not None and length is not None:
        put("e2e_mean_ms", ttft + gap * max(length - 1, 0.0), "TTFT and the gaps after it")
    rate, whole = get("requests_per_s"), get("e2e_mean_ms")
    if rate is not None and whole is not None:
        put("running_mean", rate * whole / 1e3, "requests/s × seconds of one (Little's law)")
