"""Which rules a user wants, by prefixes of their codes: `MEM`, `CMB0`, `FLG001`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.rule_engine.compile import CompiledRule
from scheduler_reader.rule_engine.load import all_rules, user_rules
from scheduler_reader.rule_engine.rule import Rule


class Selection(Record):
    """Rules whose code starts with one of `select` (empty: all) and with none of `ignore`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def of(self, rules: Iterable[CompiledRule]) -> tuple[CompiledRule, ...]:
        """The rules that are wanted, in their order."""
        if not (self.select or self.ignore):
            return tuple(rules)
        return tuple(rule for rule in rules if self.wants(rule.rule.code))

    def wants(self, code: str) -> bool:
        """Whether the rule of this code is wanted."""
        is_selected = not self.select or code.startswith(self.select)
        return is_selected and not (self.ignore and code.startswith(self.ignore))


def read_selection(
    select: Sequence[str], ignore: Sequence[str], folders: Sequence[Path] = ()
) -> Selection:
    """Prefixes as options give them, also several with commas: `MEM,CMB0`.

    Raises `UsageError` for a prefix that no rule's code starts with.
    """
    selection = Selection(_prefixes(select), _prefixes(ignore))
    if selection == Selection():
        return selection
    codes = known_codes(folders)
    for prefix in (*selection.select, *selection.ignore):
        if not any(code.startswith(prefix) for code in codes):
            raise UsageError(f"{prefix}: no rule's code starts so (sched-reader list rules)")
    return selection


def known_codes(folders: Sequence[Path] = ()) -> frozenset[str]:
    """The codes of our own rules and of those in a user's folders."""
    return frozenset(rule.code for rule in _known_rules(folders))


def codes_of_started(folders: Sequence[Path] = ()) -> frozenset[str]:
    """The codes of the rules that look at an engine only where it starts."""
    return frozenset(r.code for r in _known_rules(folders) if r.when.startswith("starts "))


def _known_rules(folders: Sequence[Path]) -> list[Rule]:
    return [*all_rules(), *(rule for folder in folders for rule in user_rules(folder))]


def _prefixes(options: Sequence[str]) -> tuple[str, ...]:
    words = (word.strip().upper() for option in options for word in option.split(","))
    return tuple(dict.fromkeys(word for word in words if word))
