"""Which releases read which VLLM_ environment variables.

`compat_matrix/environment.json` is generated (tools/extract_environment.py) from some releases
only; of a release between two that were read and differ nothing is said.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from packaging.version import Version

from scheduler_reader.data import documents, json_file
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record


class UnreadReason(Record):
    """Why a release does not read a variable that others do.

    `release` is the last that reads it (`gone`), or the first (`not_yet`), as far as was looked.
    """

    kind: Literal["gone", "not_yet"]
    release: str
    use: str | None = None


@cache
def why_unread(name: str, release: Release) -> UnreadReason | None:
    """Why the release does not read the variable; None where it does, or it is not known."""
    document = json_file("environment.json")
    spans: list[list[str]] | None = document["variables"].get(name)
    if spans is None or _is_of_plugin(name):
        return None
    at = release.version
    looked = [Version(one) for one in document["releases"]]
    before = [span for span in spans if Version(span[1]) < at]
    after = [span for span in spans if Version(span[0]) > at]
    if len(before) + len(after) < len(spans):
        return None
    if before and any(Version(before[-1][1]) < one <= at for one in looked):
        return UnreadReason("gone", before[-1][1], _data()["use"].get(name))
    if after and not before and any(at <= one < Version(after[0][0]) for one in looked):
        return UnreadReason("not_yet", after[0][0])
    return None


def _is_of_plugin(name: str) -> bool:
    plugins = _data()["plugins"]
    return name in plugins["names"] or name.startswith(tuple(plugins["prefixes"]))


def _data() -> dict[str, Any]:
    document: dict[str, Any] = documents("compat_matrix")["environment_replacements.yaml"]
    return document
