"""The names a release gives its Prometheus metrics: `compat_matrix/metric_names.yaml`."""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.versions import Release


@cache
def metric_name(metric: str, release: Release) -> str:
    """What `release` calls a metric such as `kv_cache_usage`."""
    for entry in _document()["metrics"][metric]:
        if release.meets(entry["versions"]):
            return str(entry["name"])
    raise DataError(f"compat_matrix/metric_names.yaml: {metric} has no name at {release.name}")


@cache
def metric_names(metric: str) -> tuple[str, ...]:
    """All names that releases give a metric, the newest first."""
    return tuple(str(entry["name"]) for entry in reversed(_document()["metrics"][metric]))


@cache
def known_metric_names() -> frozenset[str]:
    """All names that are read, of any release."""
    return frozenset(name for metric in _document()["metrics"] for name in metric_names(metric))


@cache
def unread_metric_starts() -> tuple[str, ...]:
    """How the names of those metrics start that have nothing in them for this tool."""
    return tuple(str(entry["start"]) for entry in _document()["not_read"])


def _document() -> Any:
    return documents("compat_matrix", "metric_names.yaml")["metric_names.yaml"]
