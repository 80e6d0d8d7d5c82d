"""The names a release gives its Prometheus metrics: `compat_matrix/metric_names.yaml`."""

from __future__ import annotations

from functools import cache

from packaging.specifiers import SpecifierSet

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.versions import Release


@cache
def metric_name(metric: str, release: Release) -> str:
    """What `release` calls a metric such as `kv_cache_usage`."""
    document = documents("compat_matrix", "metric_names.yaml")["metric_names.yaml"]
    for entry in document["metrics"][metric]:
        if SpecifierSet(entry["versions"]).contains(release.version, prereleases=True):
            return str(entry["name"])
    raise DataError(f"compat_matrix/metric_names.yaml: {metric} has no name at {release.name}")
