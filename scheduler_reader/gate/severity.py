"""Severities that a user gives to rules, by the beginning of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from scheduler_reader.errors import UsageError
from scheduler_reader.rule_engine.finding import Finding, Severity
from scheduler_reader.rule_engine.selection import known_codes
from scheduler_reader.value import Known, Origin

LEVELS: tuple[Severity, ...] = get_args(Severity)
Severities = Mapping[str, Known[Severity]]  # by prefix of a code, in capitals


def read_severities(
    stated: Mapping[str, Known[str]], options: Iterable[str], folders: Sequence[Path] = ()
) -> dict[str, Known[Severity]]:
    """The severities of a settings file, and over them those of `--severity CODE=LEVEL`.

    Raises `UsageError` for a level that is none and a code that no rule's starts with.
    """
    given = dict(stated)
    for option in options:
        code, sign, word = option.partition("=")
        if not sign:
            raise UsageError(f"--severity {option}: write CODE=LEVEL")
        given[code.strip().upper()] = Known(word.strip().lower(), Origin("option", "--severity"))
    if not given:
        return {}
    codes = known_codes(folders)
    for code, level in given.items():
        if level.value not in LEVELS:
            raise UsageError(
                f"severity: {code}: takes {', '.join(LEVELS)}, not {level.value}", level.origin
            )
        if not any(one.startswith(code.upper()) for one in codes):
            raise UsageError(
                f"severity: {code}: no rule's code starts so (sched-reader list rules)",
                level.origin,
            )
    return {code.upper(): level for code, level in given.items()}  # type: ignore[misc]


def with_severity(finding: Finding, severities: Severities) -> Finding:
    """The finding as grave as the longest prefix of its code says; as it is where none does."""
    prefixes = [prefix for prefix in severities if finding.code.startswith(prefix)]
    if not prefixes:
        return finding
    return finding._replace(severity=severities[max(prefixes, key=len)].value)
