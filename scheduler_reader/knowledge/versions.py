"""The vLLM releases that are known, and what a text that names a version means."""

from __future__ import annotations

import re
from functools import cache
from operator import eq, ge, le, lt

from packaging.version import Version

from scheduler_reader.data import json_file
from scheduler_reader.errors import DataError, UsageError
from scheduler_reader.record import Record

_COMPARED = {">=": ge, "<=": le, "<": lt, "==": eq}


class Release(Record):
    """A known vLLM release.  `assumption` says how a text that names no release became one."""

    name: str
    assumption: str | None = None

    @property
    def version(self) -> Version:
        return parsed(self.name)

    @property
    def position(self) -> int:
        """Position in release order: version ranges are inclusive on both ends in this order."""
        return releases().index(self.name)

    def within(self, first: str, last: str) -> bool:
        """Whether this release lies in the inclusive range first – last."""
        return _is_within(self.name, first, last)

    def meets(self, bounds: str) -> bool:
        """Whether `>=0.8.0,<0.11.0` or another `versions` of our own data holds for this release.

        As PEP 440 has it for releases that are no pre-releases, without loading what reads the
        whole of it.  Raises `DataError` for another operator.
        """
        return _meets(self.name, bounds)


@cache
def parsed(name: str) -> Version:
    """A version by its name, parsed once."""
    return Version(name)


@cache
def _is_within(name: str, first: str, last: str) -> bool:
    return parsed(first) <= parsed(name) <= parsed(last)


@cache
def _meets(name: str, bounds: str) -> bool:
    for bound in bounds.split(","):
        limit = bound.lstrip("<=>")
        compared = _COMPARED.get(bound.removesuffix(limit))
        if compared is None:
            raise DataError(f"versions: {bounds}: a bound begins with {', '.join(_COMPARED)}")
        if not compared(parsed(name), parsed(limit)):
            return False
    return True


@cache
def releases() -> tuple[str, ...]:
    """Names of all known releases in release order, 0.6.0 first."""
    return tuple(json_file("flags.json")["versions"])


def latest() -> Release:
    return Release(releases()[-1])


@cache
def find_release(text: str) -> Release:
    """The known release that a text such as `v0.18`, `0.10.1+gptoss`, `0.33.1rc1` means.

    A build of a release (`0.11.0.nv25.11`, `v0.33.0-cu128`) is that release.  A development
    version is read as its release where that is known, else as the newest known one before it;
    `latest` and `nightly` as the newest, and an older version than all as the oldest.  All but
    plain releases say so in `assumption`.  Raises `UsageError` when the text is no version.
    """
    plain = text.strip().lower().removeprefix("vllm").lstrip(" =:-")
    if _MOVING.match(plain):
        return _assumed(text, releases()[-1], "the newest known")
    match = _VERSION.match(plain)
    if not match or int(match["major"]) > 9:  # a date, or a tag of a vendor's container
        raise UsageError(
            f"{text!r} is no vLLM version; known are {releases()[0]} to {releases()[-1]} "
            "(sched-reader list versions)"
        )
    version = Version(match["version"])
    known = {Version(name): name for name in releases()}
    if version in known and not match["build"]:
        return Release(known[version])
    base = Version(version.base_version)
    if version in known or (version.is_prerelease and base in known):
        return _assumed(text, known.get(version) or known[base], "the release it belongs to")
    earlier = [name for release, name in known.items() if release <= version]
    if not earlier:
        return _assumed(text, releases()[0], "the oldest known")
    return _assumed(text, earlier[-1], "the nearest known before it")


def _assumed(text: str, name: str, which: str) -> Release:
    return Release(name, f"vLLM {text} is read as {name}, {which}")


# A release, development or post-release number, and what builders append to it.
_VERSION = re.compile(
    r"v?(?P<version>(?P<major>\d+)(\.\d+)+((\.|-)?(a|b|rc)\d*)?((\.|-)?post\d*)?((\.|-)?dev\d*)?)(?P<build>[.+_-][a-z].*)?$"
)
_MOVING = re.compile(r"(latest|nightly|main|dev|head)(?![a-z])")
