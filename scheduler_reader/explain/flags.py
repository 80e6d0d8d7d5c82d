"""A flag over all releases: what it takes, what it does, its defaults and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler_reader.data import json_file
from scheduler_reader.explain.defaults import DefaultRow, resolved_defaults
from scheduler_reader.explain.rules import rules_about
from scheduler_reader.explain.terms import all_terms
from scheduler_reader.knowledge.flags import Replacement, any_release_table, replacement
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.resolve.case import table
from scheduler_reader.rule_engine.rule import Rule


@dataclass(frozen=True, slots=True)
class FlagRange:
    """What an option takes in consecutive releases, both ends included."""

    since: str
    until: str
    type: str
    default: Any
    choices: tuple[Any, ...] | None
    deprecated: str | None  # by whom, and when it was to go


@dataclass(frozen=True, slots=True)
class FlagExplanation:
    """All that is known of one option of `vllm serve`."""

    name: str
    argument: str
    controls: str | None
    aliases: tuple[str, ...]
    ranges: tuple[FlagRange, ...]
    defaults: tuple[DefaultRow, ...]
    replacement: Replacement | None
    rules: tuple[Rule, ...]
    terms: tuple[str, ...]

    @property
    def is_gone(self) -> bool:
        """Whether the newest release no longer has it."""
        return self.ranges[-1].until != releases()[-1]


def find_flag(word: str) -> str | None:
    """The main name of the option that is meant: an option string, an alias, an argument name."""
    option = word.partition("=")[0].partition(".")[0].replace("_", "-")
    if not option.startswith("-"):
        option = f"--{option}"
        return option if option in json_file("flags.json")["flags"] else None
    found = any_release_table().names.get(option)
    return found.flag.name if found else None


def explain_flag(name: str) -> FlagExplanation:
    """Everything about one option; KeyError where no release has it."""
    entries = json_file("flags.json")["flags"][name]
    argument = name.lstrip("-").replace("-", "_")
    return FlagExplanation(
        name=name,
        argument=argument,
        controls=table("controls")["controls"].get(argument),
        aliases=tuple(
            dict.fromkeys(alias for entry in entries for alias in entry.get("aliases", ()))
        ),
        ranges=_ranges(entries),
        defaults=resolved_defaults(argument),
        replacement=replacement(name),
        rules=rules_about(argument),
        terms=tuple(term.name for term in all_terms() if name in term.flags),
    )


def _ranges(entries: list[dict[str, Any]]) -> tuple[FlagRange, ...]:
    """The ranges of flags.json, joined where nothing that is shown differs."""
    order = releases()
    joined: list[FlagRange] = []
    for entry in entries:
        new = _range(entry)
        if joined:
            last = joined[-1]
            adjoins = order.index(new.since) == order.index(last.until) + 1
            if adjoins and _shown(last) == _shown(new):
                joined[-1] = _range({**entry, "from": last.since})
                continue
        joined.append(new)
    return tuple(joined)


def _range(entry: dict[str, Any]) -> FlagRange:
    choices = entry.get("choices")
    deprecated = entry.get("deprecated")
    return FlagRange(
        since=entry["from"],
        until=entry["to"],
        type=entry["type"],
        default=entry.get("default"),
        choices=tuple(choices) if isinstance(choices, list) else None,
        deprecated=deprecated and f"removal announced for {deprecated['removal'] or 'later'}",
    )


def _shown(entry: FlagRange) -> tuple[Any, ...]:
    return entry.type, entry.default, entry.choices, entry.deprecated
