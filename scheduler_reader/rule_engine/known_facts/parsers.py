"""Facts about the parsers of tool calls and of reasoning that a release has."""

from __future__ import annotations

from scheduler_reader.data import documents
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

FILE = "parsers.yaml"
OLDEST = "0.8.0"  # release that the names were read in


def lacks_tool_call_parser(sources: Sources) -> bool | Unknown:
    """The release has no tool-call parser of the name that is given."""
    return _lacks(sources, "tool_call_parser")


def lacks_reasoning_parser(sources: Sources) -> bool | Unknown:
    """The release has no reasoning parser of the name that is given."""
    return _lacks(sources, "reasoning_parser")


def _lacks(sources: Sources, option: str) -> bool | Unknown:
    given = sources.engine.flags.settings.get(option)
    if isinstance(given, Unknown):
        return given
    if given is None or not given.value:
        return False
    known, release = documents("compat_matrix", FILE)[FILE], sources.engine.release
    absent_until, first, last = known[f"{option}s"].get(
        str(given.value), [known["newest"], None, None]
    )
    if absent_until and release.within(OLDEST, absent_until):
        return True
    if first and release.within(first, last):
        return False
    return Unknown(f"whether vLLM {release.name} has the parser {given.value} was not read")
