"""Short ways to write an engine's arguments in a test."""

from __future__ import annotations

import shlex
from typing import Any

from scheduler_reader.knowledge.flags import any_release_table, flag_table
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ConfigEntry, Entrypoint, ParsedEngine, Word
from scheduler_reader.value import Known, Origin


def read(
    command: str,
    release: str | None,
    entrypoint: Entrypoint = "serve",
    config: dict[str, Any] | None = None,
) -> FlagReading:
    """Arguments (without `vllm serve`) as a release reads them; no release: as written."""
    origin = Origin("command line")
    engine = ParsedEngine(
        "command-line",
        origin,
        entrypoint=entrypoint,
        words=tuple(Word(text, origin) for text in shlex.split(command)),
        config=tuple(ConfigEntry(key, value, origin) for key, value in (config or {}).items()),
    )
    return read_arguments(engine, flag_table(release) if release else any_release_table())


def values(reading: FlagReading) -> dict[str, Any]:
    """The known settings, plain."""
    return {
        name: value.value for name, value in reading.settings.items() if isinstance(value, Known)
    }


def model(reading: FlagReading) -> str | None:
    return reading.model.value if isinstance(reading.model, Known) else None


def issues(reading: FlagReading) -> list[tuple[str, str, bool]]:
    """Kind, option as written, and whether vLLM exits."""
    return [(issue.kind, issue.flag, issue.fatal) for issue in reading.issues]
