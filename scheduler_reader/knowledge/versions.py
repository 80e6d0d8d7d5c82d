"""The vLLM releases that are known, and what a text that names a version means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from packaging.version import InvalidVersion, Version

from scheduler_reader.data import json_file
from scheduler_reader.errors import UsageError


@dataclass(frozen=True, slots=True)
class Release:
    """A known vLLM release.  `assumption` says how a text that names no release became one."""

    name: str
    assumption: str | None = None

    @property
    def version(self) -> Version:
        return Version(self.name)

    @property
    def index(self) -> int:
        """Position in release order: version ranges are inclusive on both ends in this order."""
        return releases().index(self.name)

    def within(self, first: str, last: str) -> bool:
        """Whether this release lies in the inclusive range first – last."""
        return Version(first) <= self.version <= Version(last)


@cache
def releases() -> tuple[str, ...]:
    """Names of all known releases in release order, 0.6.0 first."""
    return tuple(json_file("flags.json")["versions"])


def latest() -> Release:
    return Release(releases()[-1])


@cache
def find_release(text: str) -> Release:
    """The known release that a text such as `v0.18`, `0.10.1+gptoss`, `0.33.1rc1` means.

    A development, nightly or newer version is read as the nearest known release not above it,
    and says so.  Raises `UsageError` when the text is no version, or is older than all we know.
    """
    try:
        version = Version(text.strip().removeprefix("v"))
    except InvalidVersion:
        raise UsageError(
            f"{text!r} is no vLLM version; known are {releases()[0]} to {releases()[-1]} "
            "(sched-reader list versions)"
        ) from None
    known = [Version(name) for name in releases()]
    if version in known:
        return Release(releases()[known.index(version)])
    base = Version(version.base_version) if version.post is None else version
    if version.local and Version(version.public) in known:
        name = releases()[known.index(Version(version.public))]
        return Release(name, f"vLLM {text} is a build of {name}: read as {name}")
    if version < known[0]:
        raise UsageError(f"vLLM {text} is older than {releases()[0]}, the oldest release known")
    nearest = (
        base if version.is_prerelease and base in known else max(v for v in known if v <= version)
    )
    name = releases()[known.index(nearest)]
    return Release(name, f"vLLM {text} is not a known release: read as {name}, the nearest")
