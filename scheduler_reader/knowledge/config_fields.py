"""The keys of JSON options (`speculative_config`, `compilation_config`, …) of one release.

`compat_matrix/config_fields.json` is generated (tools/extract_flags.py): config class → field →
ranges of releases with the annotation and default that vLLM's source gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from scheduler_reader.data import json_file
from scheduler_reader.knowledge.flags import Flag
from scheduler_reader.knowledge.versions import Release, releases


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One key; `annotation` as in vLLM's source, `default` as in flags.json."""

    name: str
    annotation: str
    default: Any


def config_class(flag: Flag) -> str | None:
    """The config class behind a JSON option, when its fields are known."""
    _, _, named = flag.type.partition("json:")
    known = json_file("config_fields.json")["classes"]
    if named in known:
        return named
    return _by_spelling().get(flag.argument.replace("_", ""))


def config_fields(name: str, release: Release) -> tuple[ConfigField, ...]:
    """The fields that a config class has in the release; none where the class is not known."""
    fields = json_file("config_fields.json")["classes"].get(name, {})
    return tuple(
        ConfigField(key, entry["annotation"], entry["default"])
        for key, ranges in fields.items()
        for entry in ranges
        if release.within(entry["from"], entry["to"])
    )


def refuses_other_keys(release: Release) -> bool:
    """Whether a key that the class does not have stops the release at start."""
    return release.within(json_file("config_fields.json")["closed_from"], releases()[-1])


@cache
def _by_spelling() -> dict[str, str]:
    return {name.lower(): name for name in json_file("config_fields.json")["classes"]}
