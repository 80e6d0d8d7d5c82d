"""What an option becomes in a later release, by `compat_matrix/flag_rewrites.yaml` and its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.knowledge.flags import any_release_table, flag_table, normalized
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.upgrade.text_edit import (
    NotEditable,
    Place,
    Text,
    find,
    remove,
    rename,
    set_switch,
    set_value,
)
from scheduler_reader.value import Known, Unknown

Rule = Mapping[str, Any]  # an entry of flag_rewrites.yaml


@dataclass(frozen=True, slots=True)
class Candidate:
    """An option that may be rewritten, and its value as the file says it."""

    issue: FlagIssue
    value: Known[Any] | Unknown | None


def argument_of(flag: str) -> str:
    """The engine argument of an option as written: `--swap_space` → `swap_space`."""
    return normalized(flag).lstrip("-").replace("-", "_")


def json_option(flag: str) -> str:
    """The JSON option that an option goes into by a dotted name, or empty text."""
    base, dot, _ = str(_rules().get(normalized(flag), {}).get("into", "")).partition(".")
    return base if dot else ""


def switch_of(issue: FlagIssue, value: Known[Any] | Unknown | None, release: Release) -> str | None:
    """The word for `--x=False`, or for `x: false` of a config file, where x is an on/off pair now.

    None for everything else, and for a plain switch, which has no word for off.
    """
    if issue.kind not in ("unexpected_value", "dropped") or not isinstance(value, Known):
        return None
    flag = flag_table(release).argument(argument_of(issue.flag))
    off = None if flag is None else flag.name.replace("--", "--no-", 1)
    if flag is None or off not in flag.aliases or not isinstance(value.value, bool):
        return None
    return flag.name if value.value else off


def rewritten(
    text: str, path: str, candidate: Candidate, release: Release
) -> tuple[str, str | None, str | None]:
    """The text with one option rewritten, what it became, and why where it was taken out.

    Raises `NotEditable` where nothing means the same, or the place cannot be edited safely.
    """
    issue, value = candidate.issue, candidate.value
    if issue.origin.path != path:
        raise NotEditable(f"it stands in {issue.origin.path}; run upgrade on that file")
    switch = switch_of(issue, value, release)
    if switch is not None:
        place = find(Text.of(text), issue.origin, issue.flag)
        return str(set_switch(place, switch)), switch, None
    rule = _rules().get(normalized(issue.flag))
    if rule is None:
        advice = f"decide about {issue.suggestion} yourself" if issue.suggestion else "remove it"
        raise NotEditable(f"nothing means the same in vLLM {release.name}; {advice}")
    place = find(Text.of(text), issue.origin, issue.flag)
    if "into" not in rule:
        _check_drop(rule, value, text, path)
        flag = any_release_table().names.get(normalized(issue.flag))
        return str(remove(place, flag is None or not flag.flag.is_switch)), None, rule["drop"]
    changed, into = _renamed(place, rule, value)
    return str(changed), into, None


def _renamed(place: Place, rule: Rule, value: Known[Any] | Unknown | None) -> tuple[Text, str]:
    into = rule["into"]
    written = value.value if isinstance(value, Known) else None
    if "value" in rule:
        if written is not True:
            raise NotEditable("its value is not a plain yes; change it by hand")
        return set_value(place, into, rule["value"]), f"{into} {rule['value']}"
    if "values" in rule and written not in rule["values"]:
        raise NotEditable(f"{written!r} has no single successor; change it by hand")
    if "not_starting" in rule and str(written).startswith(rule["not_starting"]):
        raise NotEditable(f"{written} is a method, not a model; change it by hand")
    if isinstance(written, list) and len(written) > 1:
        if "several" not in rule:
            raise NotEditable("it has several values; change it by hand")
        into = rule["several"]
    return rename(place, into), into


def _check_drop(rule: Rule, value: Known[Any] | Unknown | None, text: str, path: str) -> None:
    written = value.value if isinstance(value, Known) else None
    if "values" in rule and written not in rule["values"]:
        raise NotEditable(f"{written!r} has no successor; decide by hand")
    if "beside" in rule:
        for engine in parse_text(text, path).engines:
            if rule["beside"] not in read_arguments(engine, any_release_table()).settings:
                raise NotEditable(f"it needs {rule['beside']} beside it; give one")


def _rules() -> Mapping[str, Rule]:
    rules: Mapping[str, Rule] = documents("compat_matrix")["flag_rewrites.yaml"]["rewrites"]
    return rules
