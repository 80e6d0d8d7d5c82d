"""Every engine of the files that were read, as it runs today and as it would after the upgrade."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.versions import Release, find_release
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.pipeline import Request, assess
from scheduler_reader.upgrade.changes import Upgrade
from scheduler_reader.upgrade.compare import compare
from scheduler_reader.value import Known


def upgrades_of(
    files: Iterable[ParsedFile], from_version: str | None, later: Release, request: Request
) -> list[Upgrade]:
    """Compare each engine at both releases; `from_version` None: the one its image names.

    Raises `UsageError` where nobody states the earlier release, or it is not the earlier one.
    """
    found = []
    for engine in (engine for file in files for engine in file.engines):
        if engine.is_unreadable:
            continue
        earlier = _earlier(engine, from_version)
        if earlier.version >= later.version:
            raise UsageError(
                f"--from {earlier.name} --to {later.name}: the second must be the later release"
            )
        before = assess(engine, _at(request, earlier))
        found.append(compare(before, assess(engine, _at(request, later))))
    return found


def _earlier(engine: ParsedEngine, stated: str | None) -> Release:
    if stated is None and isinstance(engine.image_version, Known):
        stated = engine.image_version.value
    if stated is None:
        raise UsageError("the file does not say which vLLM it runs on: give --from")
    return find_release(stated)


def _at(request: Request, release: Release) -> Request:
    return request._replace(target=request.target._replace(vllm_version=release.name))
