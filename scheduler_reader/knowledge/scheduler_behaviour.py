"""What the scheduler does where releases differ: `compat_matrix/scheduler.yaml`, one entry at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import Release

FILE = "scheduler.yaml"


def scheduler_behaviours() -> Mapping[str, Any]:
    """Every behaviour by its name: what it is, its source, and its values since their releases."""
    behaviours: Mapping[str, Any] = documents("compat_matrix")[FILE]["behaviours"]
    return behaviours


def scheduler_behaviour(release: Release, name: str) -> Any:
    """The value that holds at a release; one older than all values is read as the oldest of them."""
    timeline = scheduler_behaviours()[name]["values"]
    value = timeline[0]["value"]
    for entry in timeline:
        if Version(entry["since"]) <= release.version:
            value = entry["value"]
    return value
