"""What `--hub` adds to the target: the facts of the engines' models, fetched before they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler_reader.errors import UsageError
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.value import Known

if TYPE_CHECKING:
    from scheduler_reader.resolve import ResolveOptions


def with_hub(target: ResolveOptions, engines: Iterable[ParsedEngine]) -> ResolveOptions:
    """The target, and where the facts of every engine's model lie, at the revision it asks for."""
    from scheduler_reader.hub import fetch_model
    from scheduler_reader.resolve import resolve

    if target.model_config is not None:
        raise UsageError("--hub and --model-config both say where the model's facts are: give one")
    folders: dict[tuple[str, str | None], Path] = {}
    for parsed in engines:
        engine = resolve(parsed, target)
        revision = engine.flags.settings.get("revision")
        if not isinstance(engine.model_id, Known):
            continue
        wanted = (engine.model_id.value, revision.value if isinstance(revision, Known) else None)
        if wanted not in folders:
            folders[wanted] = fetch_model(*wanted, _cache())
    return target._replace(hub_models=folders)


def _cache() -> Path:
    """Where fetched models are kept (XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sched-reader" / "hub"
