"""What a vLLM server's /metrics says: one page gives totals since start, two the time between.

Data-parallel engines are labels of one page: queues, counters and histograms are summed, the KV
usage is their mean.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import isfinite

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.metrics import (
    known_metric_names,
    metric_names,
    unread_metric_starts,
)
from scheduler_reader.observe.exposition import Page, is_url, read_page
from scheduler_reader.observe.histogram import Histogram, histogram, total
from scheduler_reader.observe.measures import Measures
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Unknown, Value, derive

LATENCIES = {
    "ttft": "time_to_first_token",
    "itl": "inter_token_latency",
    "tpot": "request_time_per_output_token",
    "e2e": "request_latency",
    "queue": "queue_time",
    "prefill": "prefill_time",
}
WITH_QUANTILES = ("ttft", "itl")
QUANTILES = {"p50": 0.5, "p99": 0.99}
PARTS = ("_bucket", "_sum", "_count", "_created")
WAIT_S = 10.0  # between two looks at the same URL, where nobody says how long
SHORTEST_S = 1.0  # files of a fresh copy or checkout are all written at once
NO_TIME = Unknown("one page of metrics has no time in it; give a second one (--metrics twice)")
SAME_TIME = Unknown(
    "the files of the two pages were written at the same time; say how far they are apart "
    "(--metrics-interval-s)"
)


class MetricsReading(Record):
    """Measures by names of `MEASURES`; `widths` are those of the buckets that quantiles lie in."""

    measures: Measures
    widths: Mapping[str, float]
    cache_config: Mapping[str, str]  # labels of vllm:cache_config_info
    unread: tuple[str, ...]  # metrics that neither are read nor listed as not to be read
    notes: tuple[str, ...]


class _Window(Record):
    """The last page, and the one before it; None: since the server started."""

    last: Page
    first: Page | None
    stated_s: float | None  # seconds between them, where somebody says so

    def name(self, metric: str) -> str | None:
        """What this server calls a metric; None where it has none."""
        for name in metric_names(metric):
            if name in self.last.samples or f"{name}_bucket" in self.last.samples:
                return name
        return None

    def gauge(self, metric: str) -> Value[float]:
        """The sum over engines at the last look."""
        name = self.name(metric)
        if name is None:
            return _missing(metric)
        return Known(total(self.last.samples[name]), self.last.origin(name))

    def labelled(self, metric: str, label: str, value: str) -> Value[float]:
        """The sum over engines of the samples that have this label, at the last look."""
        name = self.name(metric)
        if name is None:
            return _missing(metric)
        samples = [one for one in self.last.samples[name] if one.labels.get(label) == value]
        if not samples:
            return Unknown(f"{name} has no {label} {value}")
        return Known(total(samples), self.last.origin(name, value))

    def counted(self, metric: str) -> Value[float]:
        """How far a counter rose within the window, all engines and labels together."""
        name = self.name(metric)
        if name is None:
            return _missing(metric)
        rise = total(self.last.samples[name])
        if self.first is not None:
            rise -= total(self.first.samples.get(name, ()))
        if rise < 0:
            return Unknown(f"{name} falls from the first page to the second: restarted")
        return Known(rise, self.last.origin(name))

    def histogram(self, metric: str) -> Value[Histogram]:
        name = self.name(metric)
        last = None if name is None else histogram(self.last, name)
        if name is None or last is None:
            return _missing(metric)
        first = None if self.first is None else histogram(self.first, name)
        found = last if first is None else last.since(first)
        if isinstance(found, Unknown):
            return found
        return Known(found, self.last.origin(f"{name}_bucket", name))


def read_metrics(sources: Sequence[str], interval_s: float | None = None) -> MetricsReading:
    """The measures of one page, or of the time between two, in the order they were taken.

    A source is a file or an http(s) URL.  `interval_s`: seconds between the pages, where their
    files' own times do not tell; before a second URL is fetched that long is waited.  Raises
    `InputError` for what cannot be read, has no metric of vLLM, or for more than two pages.
    """
    if len(sources) > 2:
        raise InputError(f"{len(sources)} pages of metrics; give one, or one before and one after")
    pages: list[Page] = []
    for source in sources:
        if pages and is_url(source):
            time.sleep(WAIT_S if interval_s is None else interval_s)
        pages.append(read_page(source))
    for page in pages:
        if not any(name.startswith("vllm:") for name in page.samples):
            raise InputError(
                "no metric of vLLM (vllm:…) in it; is it the engine's own port?",
                Origin("file", path=page.path),
            )
    window = _Window(pages[-1], pages[0] if len(pages) == 2 else None, interval_s)
    measures: dict[str, Value[float]] = {}
    widths: dict[str, float] = {}
    _latencies(window, measures, widths)
    _queues(window, measures)
    _work(window, measures)
    cache = _cache_config(window.last, measures)
    return MetricsReading(measures, widths, cache, unread_names(window.last), _notes(window))


def unread_names(page: Page) -> tuple[str, ...]:
    """The metrics of a page that nothing is known about, without the parts of histograms."""
    starts = unread_metric_starts()
    names = set()
    for sample in page.samples:
        bases = {sample, *(sample.removesuffix(part) for part in PARTS)}
        counters = {f"{base}_total" for base in bases}
        if not (bases | counters) & known_metric_names() and not sample.startswith(starts):
            names.add(min(bases, key=len))
    return tuple(sorted(names))


def _latencies(
    window: _Window, measures: dict[str, Value[float]], widths: dict[str, float]
) -> None:
    for short, metric in LATENCIES.items():
        mean = "tpot_ms" if short == "tpot" else f"{short}_mean_ms"
        found = window.histogram(metric)
        if isinstance(found, Unknown):
            measures[mean] = found
            continue
        measures[mean] = _milliseconds(found.value.mean, found.origin)
        for part, share in QUANTILES.items() if short in WITH_QUANTILES else ():
            quantile = found.value.quantile(share)
            if isinstance(quantile, Unknown):
                measures[f"{short}_{part}_ms"] = quantile
                continue
            measures[f"{short}_{part}_ms"] = Known(quantile.value * 1e3, found.origin)
            widths[f"{short}_{part}_ms"] = quantile.width * 1e3


def _queues(window: _Window, measures: dict[str, Value[float]]) -> None:
    measures["running"] = window.gauge("requests_running")
    waiting, swapped = window.gauge("requests_waiting"), window.gauge("requests_swapped")
    if isinstance(waiting, Known) and isinstance(swapped, Known):
        waiting = Known(waiting.value + swapped.value, waiting.origin)
    measures["waiting"] = waiting
    deferred = window.labelled("requests_waiting_by_reason", "reason", "deferred")
    measures["waiting_deferred"] = deferred
    name = window.name("kv_cache_usage")
    samples = () if name is None else window.last.samples[name]
    engines = {sample.labels.get("engine", "0") for sample in samples}
    if name is None or not samples:
        measures["kv_cache_usage"] = _missing("kv_cache_usage")
    else:
        mean = total(samples) / len(samples)
        measures["kv_cache_usage"] = Known(mean, window.last.origin(name))
        measures["engines"] = Known(float(len(engines)), window.last.origin(name))


def _work(window: _Window, measures: dict[str, Value[float]]) -> None:
    generated, prompts = window.counted("generation_tokens"), window.counted("prompt_tokens")
    finished = window.counted("requests_finished")
    measures["requests"] = finished
    measures["preemptions"] = window.counted("preemptions")
    measures["preemptions_per_request"] = _ratio(measures["preemptions"], finished)
    for name, metric in (
        ("input_tokens_mean", "prompt_lengths"),
        ("output_tokens_mean", "generation_lengths"),
        ("step_tokens_mean", "step_tokens"),
    ):
        lengths = window.histogram(metric)
        if isinstance(lengths, Unknown):
            measures[name] = lengths
        else:
            mean = lengths.value.mean
            measures[name] = mean if isinstance(mean, Unknown) else Known(mean, lengths.origin)
    queries, hits = window.counted("prefix_cache_queries"), window.counted("prefix_cache_hits")
    hit_rate = _ratio(hits, queries)
    if isinstance(queries, Unknown):
        hit_rate = _share(window.gauge("prefix_cache_hit_rate"))
    measures["prefix_cache_hit_rate"] = hit_rate
    measures["acceptance_length"] = derive(
        lambda share: 1 + share, _ratio(window.counted("accepted_tokens"), window.counted("drafts"))
    )
    duration = _duration(window)
    if isinstance(duration, Known):
        measures["duration_s"] = duration
    output = _ratio(generated, duration)
    if isinstance(output, Unknown):  # V0 told the last seconds' throughput itself
        told = window.gauge("generation_throughput")
        output = told if isinstance(told, Known) else output
    measures["output_tokens_per_s"] = output
    measures["total_tokens_per_s"] = _ratio(
        derive(lambda one, other: one + other, generated, prompts), duration
    )
    measures["requests_per_s"] = _ratio(finished, duration)
    whole = window.histogram("request_latency")
    measures["running_mean"] = _ratio(derive(lambda spent: spent.total, whole), duration)


def _duration(window: _Window) -> Value[float]:
    """Seconds between the pages: as stated, else by the times they were fetched or written."""
    if window.first is None:
        return NO_TIME
    if window.stated_s is not None:
        return Known(window.stated_s, Origin("option", "--metrics-interval-s"))
    apart_s = window.last.taken_at_s - window.first.taken_at_s
    if apart_s < SHORTEST_S:
        return SAME_TIME
    return Known(apart_s, Origin("derived", "when the two pages were taken"))


def _cache_config(page: Page, measures: dict[str, Value[float]]) -> Mapping[str, str]:
    """The labels of the cache configuration, and what in them is a measure."""
    name = metric_names("cache_config")[0]
    samples = page.samples.get(name, ())
    if not samples:
        return {}
    labels = samples[0].labels
    for measure, label in (
        ("num_blocks", "num_gpu_blocks"),
        ("block_size", "block_size"),
        ("kv_cache_tokens", "kv_cache_size_tokens"),
        ("max_concurrency", "kv_cache_max_concurrency"),
    ):
        try:
            measures[measure] = Known(float(labels[label]), page.origin(name, label))
        except (KeyError, ValueError):  # older releases have fewer labels; None where not sized
            continue
    return labels


def _notes(window: _Window) -> tuple[str, ...]:
    if window.first is None:
        return ("one page of metrics: means, percentiles and counts are of all time since start",)
    duration = _duration(window)
    if isinstance(duration, Unknown) or window.stated_s is not None:
        return ()
    return (
        f"the two pages of metrics were taken {duration.value:,.0f} s apart, by the times of "
        "their files (else --metrics-interval-s)",
    )


def _ratio(part: Value[float], whole: Value[float]) -> Value[float]:
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    if not whole.value > 0:
        return Unknown("nothing was counted in this time")
    return Known(part.value / whole.value, part.origin)


def _share(value: Value[float]) -> Value[float]:
    """A V0 gauge is -1 where the cache is off."""
    if isinstance(value, Known) and value.value < 0:
        return Unknown("prefix caching is off", value.origin)
    return value


def _milliseconds(seconds: float | Unknown, origin: Origin) -> Value[float]:
    if isinstance(seconds, Unknown) or not isfinite(seconds):
        return seconds if isinstance(seconds, Unknown) else Unknown("no finite value")
    return Known(seconds * 1e3, origin)


def _missing(metric: str) -> Unknown:
    return Unknown(f"this server has no {metric_names(metric)[0]}")
