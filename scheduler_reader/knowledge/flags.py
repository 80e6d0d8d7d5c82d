"""The options of `vllm serve`: of one release, and of all releases together.

`compat_matrix/flags.json` is generated (tools/import_flags.py) and holds ranges; a `FlagTable` is
those ranges cut at one release, with the look-ups that vLLM's argument parser does: dashes equal
underscores, aliases, the negatives of a pair, and unique prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from scheduler_reader.data import documents, json_file
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.record import Record


class Flag(Record):
    """One option over one range of releases (`since` - `until`, inclusive)."""

    name: str  # --max-num-seqs
    since: str
    until: str
    type: str  # as in flags.json: int, human_int, json:<Class>, flag, bool, bool-value, …
    default: Any = None
    choices: tuple[Any, ...] | Mapping[str, str] | None = None  # a mapping: known at run time only
    suggested: tuple[Any, ...] | None = None
    nargs: str | None = None
    const: Any = None
    aliases: tuple[str, ...] = ()
    action: str | None = None
    deprecated: Mapping[str, str | None] | None = None
    group: str | None = None
    field: str | None = None  # SchedulerConfig.max_num_seqs
    optional: bool = False  # the text None means no value

    @property
    def argument(self) -> str:
        """Name of the engine argument: `max_num_seqs`."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether the option stands alone: `--enforce-eager`, or an on/off pair."""
        return self.type in {"flag", "bool"}

    @property
    def is_list(self) -> bool:
        """Whether the value is a list of words, or gathered from repeated options."""
        return self.nargs in {"+", "*"} or self.action == "append"

    def is_negative(self, option: str) -> bool:
        """Whether `option`, one of this flag's own names, switches it off."""
        if option == self.name or not self.is_switch:
            return False
        return option.startswith(("--no-", "--enable-", "--disable-"))


class Match(Record):
    """An option string that was found: the flag, and whether this name switches it off."""

    flag: Flag
    option: str
    negative: bool


class FlagTable(Record):
    """The options of one release, or (`release` is None) of all of them."""

    release: str | None
    flags: Mapping[str, Flag]
    names: Mapping[str, Match]  # every option string: names, aliases, negatives

    def find(self, option: str) -> Match | tuple[str, ...]:
        """The flag behind an option string, else the options that it could be short for.

        An empty tuple means that nothing starts so.  Prefixes count as in argparse: one
        candidate is a match, several are ambiguous.
        """
        option = normalized(option)
        exact = self.names.get(option)
        if exact is not None:
            return exact
        if option in {"-", "--"}:
            return ()
        candidates = tuple(name for name in self.names if name.startswith(option))
        meanings = {(self.names[name].flag.name, self.names[name].negative) for name in candidates}
        return self.names[candidates[0]] if len(meanings) == 1 else candidates

    def to_json(self) -> dict[str, dict[str, Any]]:
        """What `list flags --format json` prints: option name → its attributes."""
        return {name: _attributes(flag) for name, flag in self.flags.items()}

    def argument(self, argument: str) -> Flag | None:
        """The flag that sets an engine argument such as `max_num_seqs`."""
        return self.flags.get("--" + argument.replace("_", "-"))


def normalized(option: str) -> str:
    """Dashes for underscores up to the first dot, as vLLM's parser does: `--kv_a.b_c`."""
    if not option.startswith("--"):
        return option
    head, dot, tail = option.partition(".")
    return head.replace("_", "-") + dot + tail


def flag_table(release: Release | str) -> FlagTable:
    """The options that one known release has."""
    return _release_table(release if isinstance(release, str) else release.name)


@cache
def _release_table(release: str) -> FlagTable:
    order = _order()
    if release not in order:
        raise DataError(f"flags.json has no release {release!r}")
    at = order[release]
    flags = {}
    for name, ranges in json_file("flags.json")["flags"].items():
        for entry in ranges:
            if order[entry["from"]] <= at <= order[entry["to"]]:
                flags[name] = _flag(name, entry)
                break
    return _table(release, flags)


@cache
def any_release_table(prefer: str | None = None) -> FlagTable:
    """Options of all releases: those of `prefer` as they are there, the rest as of their newest.

    This is the table for reading a file whose vLLM release nobody states.  A name that some
    release had as an option of its own stays that option, even where another one took it over
    as its negative (`--disable-log-requests`).
    """
    flags = dict(flag_table(prefer).flags) if prefer else {}
    for name, ranges in json_file("flags.json")["flags"].items():
        if name not in flags:
            flags[name] = _flag(name, ranges[-1])
    return _table(None, flags)


def lifetime(name: str) -> tuple[str, str] | None:
    """First and last release that has the option string, or None when no release has it."""
    ranges = _option_ranges().get(normalized(name))
    return (ranges[0][0], ranges[-1][1]) if ranges else None


def next_release_with(option: str, release: str) -> str | None:
    """The first release after `release` that has the option string."""
    order = _order()
    ranges = _option_ranges().get(normalized(option), ())
    return next((first for first, _ in ranges if order[first] > order[release]), None)


def last_release_with(option: str, release: str) -> str | None:
    """The last release before `release` that has the option string."""
    order = _order()
    ranges = _option_ranges().get(normalized(option), ())
    return next((last for _, last in reversed(ranges) if order[last] < order[release]), None)


class Replacement(Record):
    """What takes the place of an option that is gone; `use` is None when nothing does."""

    use: str | None = None
    note: str | None = None


def replacement(name: str) -> Replacement | None:
    """The successor of an option that no longer exists, as far as it is known."""
    known = documents("compat_matrix")["flag_replacements.yaml"]["replacements"]
    entry = known.get(normalized(name))
    return None if entry is None else Replacement(**entry)


def did_you_mean(option: str, table: FlagTable) -> str | None:
    """The option of the table that is spelled most alike, if any is close."""
    from difflib import get_close_matches

    close = get_close_matches(normalized(option), list(table.names), n=1, cutoff=0.8)
    return close[0] if close else None


def _attributes(flag: Flag) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": flag.type,
        "default": flag.default,
        "choices": list(flag.choices) if isinstance(flag.choices, tuple) else flag.choices,
        "aliases": list(flag.aliases),
        "argument": flag.argument,
        "first": flag.since,
        "last": flag.until,
    }
    optional = {
        "suggested": None if flag.suggested is None else list(flag.suggested),
        "nargs": flag.nargs,
        "deprecated": flag.deprecated,
        "field": flag.field,
    }
    return shown | {key: value for key, value in optional.items() if value is not None}


@cache
def _order() -> dict[str, int]:
    return {name: index for index, name in enumerate(releases())}


@cache
def _option_ranges() -> dict[str, list[tuple[str, str]]]:
    """Every option string, aliases too: the ranges of releases that have it, in order."""
    order = _order()
    ranges: dict[str, list[tuple[str, str]]] = {}
    for name, entries in json_file("flags.json")["flags"].items():
        for entry in entries:
            for option in (name, *entry.get("aliases", ())):
                ranges.setdefault(option, []).append((entry["from"], entry["to"]))
    for spans in ranges.values():
        spans.sort(key=lambda span: order[span[0]])
    return ranges


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    choices, suggested = entry.get("choices"), entry.get("suggested")
    return Flag(
        name=name,
        since=entry["from"],
        until=entry["to"],
        type=entry["type"],
        default=entry.get("default"),
        choices=tuple(choices) if isinstance(choices, list) else choices,
        suggested=None if suggested is None else tuple(suggested),
        nargs=entry.get("nargs"),
        const=entry.get("const"),
        aliases=tuple(entry.get("aliases", ())),
        action=entry.get("action"),
        deprecated=entry.get("deprecated"),
        group=entry.get("group"),
        field=entry.get("field"),
        optional=entry.get("optional", False),
    )


def _table(release: str | None, flags: dict[str, Flag]) -> FlagTable:
    names = {
        alias: Match(flag, alias, flag.is_negative(alias))
        for flag in flags.values()
        for alias in flag.aliases
    }
    names |= {name: Match(flag, name, negative=False) for name, flag in flags.items()}
    return FlagTable(release, flags, names)
