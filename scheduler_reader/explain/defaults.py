"""What a setting becomes when nobody states it, release by release, on typical deployments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import Setting
from scheduler_reader.resolve.settings import ORDER
from scheduler_reader.value import Unknown


@dataclass(frozen=True, slots=True)
class DefaultSpan:
    """One value over consecutive releases, both ends included, and the rule behind it."""

    since: str
    until: str
    value: Any
    rule: str


@dataclass(frozen=True, slots=True)
class DefaultRow:
    """The deployments that agree in every release, and their values."""

    deployments: tuple[str, ...]
    spans: tuple[DefaultSpan, ...]


def resolved_defaults(argument: str) -> tuple[DefaultRow, ...]:
    """The resolved default of a setting that vLLM works out; empty for one it takes as it is."""
    if argument not in ORDER:
        return ()
    rows: list[tuple[list[str], dict[str, _Resolved]]] = []
    for deployment in documents("compat_matrix")["explain.yaml"]["deployments"]:
        found = _by_release(argument, deployment)
        like = next((row for row in rows if _agrees(found, row[1])), None)
        if like is not None:
            like[0].append(deployment["says"])
        elif found:
            rows.append(([deployment["says"]], found))
    return tuple(DefaultRow(tuple(names), _spans(found)) for names, found in rows)


@dataclass(frozen=True, slots=True)
class _Resolved:
    value: Any
    rule: str


def _by_release(argument: str, deployment: Mapping[str, Any]) -> dict[str, _Resolved]:
    """The value in every release that has the setting and serves the model."""
    offline = bool(deployment.get("offline", False))
    first = Version(str(deployment.get("since", releases()[0])))
    found = {}
    for release in releases():
        if Version(release) < first:
            continue
        settings = _settings(deployment["model"], deployment["gpu"], offline, release)
        setting = settings.get(argument)
        if setting is not None and not isinstance(setting.value, Unknown):
            detail = setting.value.origin.detail
            found[release] = _Resolved(setting.value.value, _rule(detail, release))
    return found


@cache
def _settings(model: str, gpu: str, offline: bool, release: str) -> Mapping[str, Setting]:
    """Every setting of a deployment that states nothing but its model."""
    engine = parse_command(["vllm", "serve", model]).engines[0]
    return resolve(engine, ResolveOptions(release, gpu, offline=offline)).settings


def _agrees(found: Mapping[str, _Resolved], row: Mapping[str, _Resolved]) -> bool:
    """Whether a deployment has the values of a row in all releases that serve it."""
    return bool(found) and all(
        release in row and row[release].value == one.value for release, one in found.items()
    )


def _spans(found: Mapping[str, _Resolved]) -> tuple[DefaultSpan, ...]:
    """Consecutive releases with one value; the rule is that of the newest."""
    spans = []
    for value, group in groupby(found.items(), key=lambda item: item[1].value):
        members = list(group)
        spans.append(DefaultSpan(members[0][0], members[-1][0], value, members[-1][1].rule))
    return tuple(spans)


def _rule(detail: str, release: str) -> str:
    """The rule's words without the release, which the span says, and without vLLM's file."""
    words = detail.removeprefix(f"default of vLLM {release}: ").removeprefix(f"vLLM {release}: ")
    return words.partition(" (vllm/")[0]
