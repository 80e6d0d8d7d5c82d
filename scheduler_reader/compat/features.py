"""The features that `compat_matrix/features.yaml` knows, and the releases that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.flags import lifetime
from scheduler_reader.knowledge.versions import Release


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature.  `since` and `until` are the releases with its option; None: open."""

    name: str
    title: str
    also: tuple[str, ...]
    flag: str | None
    since: str | None
    until: str | None

    def exists_in(self, release: Release) -> bool:
        """Whether the release has the feature's option (a feature without one: always)."""
        return release.within(self.since or release.name, self.until or release.name)


@cache
def data() -> Mapping[str, Any]:
    """The document `features.yaml`."""
    document: Mapping[str, Any] = documents("compat_matrix")["features.yaml"]
    return document


@cache
def all_features() -> Mapping[str, Feature]:
    """Every feature by name."""
    return {name: _feature(name, entry) for name, entry in data()["features"].items()}


def find_feature(word: str) -> Feature:
    """The feature of that name or short form; `UsageError` with the nearest names otherwise."""
    plain = word.strip().lower().replace("_", "-").replace(" ", "-").removeprefix("--")
    names = {
        name: feature
        for feature in all_features().values()
        for name in (feature.name, *feature.also)
    }
    options = {f.flag.lstrip("-"): f for f in all_features().values() if f.flag}
    found = names.get(plain) or options.get(plain) or names.get(plain.removeprefix("enable-"))
    if found is not None:
        return found
    close = get_close_matches(plain, [*names, *options], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(names)}"
    raise UsageError(f"{word!r} is no feature that is known; {hint}")


def _feature(name: str, entry: Mapping[str, Any]) -> Feature:
    flag = entry.get("flag")
    life = lifetime(flag) if flag else None
    return Feature(
        name=name,
        title=entry["says"],
        also=tuple(entry.get("also", ())),
        flag=flag,
        since=life[0] if life else None,
        until=entry.get("until") or (life[1] if life else None),
    )
