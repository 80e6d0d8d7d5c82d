"""A page of Prometheus metrics as samples: from a file, or fetched from a URL that a user names."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from scheduler_reader.errors import InputError
from scheduler_reader.observe.text import MAX_BYTES, read_recorded, recorded_text
from scheduler_reader.record import Record
from scheduler_reader.value import Origin

TIMEOUT_S = 10.0
EXPECTED = "the text of a vLLM server's /metrics"


class Sample(Record):
    labels: Mapping[str, str]
    value: float


class Page(Record):
    """One look at /metrics: samples by the name before the labels, and where each name starts.

    A page has no time in it: `taken_at_s` is when it was fetched, or its file last written.
    """

    path: str
    taken_at_s: float
    samples: Mapping[str, tuple[Sample, ...]]
    lines: Mapping[str, int]

    def origin(self, name: str, detail: str = "") -> Origin:
        return Origin("file", detail or name, path=self.path, line=self.lines.get(name))


def is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def read_page(source: str) -> Page:
    """The page in a file, or behind an http(s) URL.

    Raises `InputError` where it cannot be read or fetched, or is no Prometheus text.
    """
    from prometheus_client.parser import text_string_to_metric_families

    text = _fetched(source) if is_url(source) else read_recorded(source, EXPECTED)
    samples: dict[str, list[Sample]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append(Sample(sample.labels, sample.value))
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise InputError(
            f"no Prometheus text ({str(error)[:80]}); expected {EXPECTED}",
            Origin("file", path=source),
        ) from None
    if not samples:
        raise InputError(f"no metric in it; expected {EXPECTED}", Origin("file", path=source))
    by_name = {name: tuple(found) for name, found in samples.items()}
    return Page(source, _taken_at_s(source), by_name, dict(_lines(text)))


def _taken_at_s(source: str) -> float:
    return time.time() if is_url(source) else Path(source).stat().st_mtime


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Each sample name with its first line."""
    seen = set()
    for number, line in enumerate(text.split("\n"), start=1):
        name = line.partition("{")[0].partition(" ")[0]
        if name and not name.startswith("#") and name not in seen:
            seen.add(name)
            yield name, number


def _fetched(url: str) -> str:
    import http.client
    import urllib.error
    import urllib.request

    origin = Origin("option", path=url)
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            content = answer.read(MAX_BYTES + 1)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"cannot be fetched: {reason}", origin) from None
    return recorded_text(content, EXPECTED, origin)
