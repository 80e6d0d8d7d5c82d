"""Which engines of a file run on one host at the same time."""

from __future__ import annotations

from scheduler_reader.parse.source import ParsedEngine, ParsedFile

TOGETHER = ("compose",)  # forms that start all their engines on the host they are read on


def with_neighbours(parsed: ParsedFile) -> ParsedFile:
    """The file with each engine's others beside it; one that a profile starts stands alone."""
    if parsed.form not in TOGETHER or len(parsed.engines) < 2:
        return parsed
    started = [engine for engine in parsed.engines if _is_always_started(engine)]
    engines = [
        engine._replace(beside=tuple(other for other in started if other is not engine))
        if _is_always_started(engine)
        else engine
        for engine in parsed.engines
    ]
    return parsed._replace(engines=tuple(engines))


def _is_always_started(engine: ParsedEngine) -> bool:
    return engine.deployment is None or not engine.deployment.needs_profile
