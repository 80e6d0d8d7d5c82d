"""Extends version ranges of compat_matrix/ by one release, and says what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from packaging.version import Version

Attributes = dict[str, Any]
Options = dict[str, Attributes]
Ranges = dict[str, list[Attributes]]
BOUNDS = ("from", "to")


def of_release(ranges: Ranges, versions: list[str], release: str) -> Options:
    """What holds in one stored release: name → attributes."""
    return {
        name: by_release[release]
        for name, entries in ranges.items()
        if release in (by_release := _by_release(entries, versions))
    }


def neighbour(versions: list[str], release: str) -> str:
    """The stored release to compare with: the release itself, else the newest before it."""
    known = [name for name in versions if Version(name) <= Version(release)]
    return known[-1] if known else versions[0]


def with_release(versions: list[str], release: str) -> list[str]:
    """The releases in order, the new one in its place."""
    return sorted({*versions, release}, key=Version)


def extended(ranges: Ranges, versions: list[str], release: str, options: Options) -> Ranges:
    """The ranges with one release added or replaced; other releases keep what they have.

    The release joins the range before it where nothing changed, else the one after it, else it
    starts its own, so ranges have neither gap nor overlap.
    """
    after = with_release(versions, release)
    placed = {
        name: _placed(
            _by_release(ranges.get(name, []), versions), after, release, options.get(name)
        )
        for name in sorted({*ranges, *options})
    }
    return {name: entries for name, entries in placed.items() if entries}


def _placed(
    by_release: dict[str, Attributes],
    versions: list[str],
    release: str,
    attributes: Attributes | None,
) -> list[Attributes]:
    at = versions.index(release)
    by_release.pop(release, None)
    if attributes is not None:
        around = [by_release.get(name) for name in (*versions[:at][-1:], *versions[at + 1 :][:1])]
        same = (known for known in around if known == attributes)
        by_release[release] = next(same, attributes)
    runs = groupby(versions, key=lambda name: id(by_release.get(name)))
    ranges = [list(run) for _, run in runs]
    return [
        {"from": run[0], "to": run[-1]} | by_release[run[0]]
        for run in ranges
        if run[0] in by_release
    ]


def _by_release(ranges: list[Attributes], versions: list[str]) -> dict[str, Attributes]:
    """Release → attributes; releases of one range share one object."""
    found: dict[str, Attributes] = {}
    for entry in ranges:
        attributes = {key: value for key, value in entry.items() if key not in BOUNDS}
        first, last = (versions.index(entry[bound]) for bound in BOUNDS)
        found |= dict.fromkeys(versions[first : last + 1], attributes)
    return found


def changes(before: Options, after: Options) -> Iterator[str]:
    """One line for each name that came, went, or has another attribute."""
    for name in sorted({*before, *after}):
        if name not in before:
            yield f"+ {name} {_text(after[name])}"
        elif name not in after:
            yield f"- {name}"
        else:
            old, new = before[name], after[name]
            for key in sorted({*old, *new}):
                if old.get(key) != new.get(key):
                    yield f"~ {name} {key}: {_text(old.get(key))} -> {_text(new.get(key))}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write(table: dict[str, Any], path: Path) -> None:
    """Write a table of compat_matrix/ as it is stored: on one line."""
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
