"""`upgrade --fix`: rename in a file what a release calls otherwise, and check the result.

Every edit is made alone and the text is read again: the option must be gone, the release must
refuse nothing that it did not refuse before, and every other option must read as it did.  An edit
that does not pass is taken back and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.flags import any_release_table, flag_table, normalized
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import FlagIssue, read_arguments
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.upgrade.text_edit import (
    NotEditable,
    Place,
    Text,
    find,
    remove,
    rename,
    set_value,
)
from scheduler_reader.value import Known, Origin, Unknown

Rule = Mapping[str, Any]  # an entry of compat_matrix/flag_rewrites.yaml


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One option of a file: what becomes of it, or why it is left alone."""

    flag: str
    origin: Origin
    into: str | None = None  # None: it is taken out, or left
    reason: str | None = None  # why it is taken out, or left
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The new text and the story of every option that the release does not have."""

    text: str
    rewrites: tuple[Rewrite, ...]
    is_refused: bool  # whether the release still refuses some option of the new text


def rewrite(text: str, path: str, release: Release) -> Rewritten:
    """Rewrite the options of a file that `release` no longer has.

    Options that go into one JSON option together (`--speculative-config`) are rewritten all or
    none.  Raises `InputError` when the text cannot be read.
    """
    rewritten = _rewrite_all(text, path, release, frozenset())
    halves = _targets(rewritten, is_done=True) & _targets(rewritten, is_done=False)
    return _rewrite_all(text, path, release, halves) if halves else rewritten


def _rewrite_all(text: str, path: str, release: Release, left: frozenset[str]) -> Rewritten:
    """One pass over the file; options that would go into one of `left` are not touched."""
    current = text
    rewrites = []
    for issue, value in _removed(text, path, release):
        try:
            changed, into, reason = _rewritten(current, path, issue, value, release)
            if into is not None and _target(issue) in left:
                raise NotEditable(f"it goes into {into} with options that cannot; do it by hand")
        except NotEditable as why:
            rewrites.append(Rewrite(issue.flag, issue.origin, reason=str(why)))
            continue
        problem = _problem(current, changed, path, issue, release)
        if problem is None:
            current = changed
        rewrites.append(Rewrite(issue.flag, issue.origin, into, problem or reason, problem is None))
    refused = any(_fatal(engine, release) for engine in parse_text(current, path).engines)
    return Rewritten(current, tuple(reversed(rewrites)), refused)


def _targets(rewritten: Rewritten, is_done: bool) -> frozenset[str]:
    """The JSON options that rewrites of one outcome go into."""
    return frozenset(_target(one) for one in rewritten.rewrites if one.is_done is is_done) - {""}


def _target(one: Rewrite | FlagIssue) -> str:
    """The JSON option that an option goes into by a dotted name, or empty text."""
    base, dot, _ = str(_rules().get(normalized(one.flag), {}).get("into", "")).partition(".")
    return base if dot else ""


def _rules() -> Mapping[str, Rule]:
    rules: Mapping[str, Rule] = documents("compat_matrix")["flag_rewrites.yaml"]["rewrites"]
    return rules


def _removed(
    text: str, path: str, release: Release
) -> list[tuple[FlagIssue, Known[Any] | Unknown | None]]:
    """Every option that is gone, the last in the file first, so that places stay true."""
    found = {}
    for engine in parse_text(text, path).engines:
        given = read_arguments(engine, any_release_table()).settings
        for issue in read_arguments(engine, flag_table(release)).issues:
            if issue.kind == "removed":
                name = normalized(issue.flag).lstrip("-").replace("-", "_")
                found[str(issue.origin), issue.flag] = (issue, given.get(name))
    return sorted(
        found.values(),
        key=lambda item: (item[0].origin.line or 0, item[0].origin.column or 0),
        reverse=True,
    )


def _rewritten(
    text: str,
    path: str,
    issue: FlagIssue,
    value: Known[Any] | Unknown | None,
    release: Release,
) -> tuple[str, str | None, str | None]:
    """The text with one option rewritten, what it became, and why where it was taken out."""
    rule = _rules().get(normalized(issue.flag))
    if rule is None:
        advice = f"decide about {issue.suggestion} yourself" if issue.suggestion else "remove it"
        raise NotEditable(f"nothing means the same in vLLM {release.name}; {advice}")
    if issue.origin.path != path:
        raise NotEditable(f"it stands in {issue.origin.path}; run upgrade on that file")
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


def _problem(before: str, after: str, path: str, issue: FlagIssue, release: Release) -> str | None:
    """Why an edit cannot stay, or None: the new text is read and compared with the old one."""
    try:
        old, new = parse_text(before, path), parse_text(after, path)
    except InputError as error:
        return f"the file could not be read any more ({error.message}); change it by hand"
    if len(old.engines) != len(new.engines):
        return "the file would read as other engines; change it by hand"
    for one, other in zip(old.engines, new.engines, strict=True):
        refused = _fatal(other, release) - _fatal(one, release)
        if refused:
            return f"{min(refused)[1]}; change it by hand"
        moved = _touched(one, other, issue.flag)
        if moved:
            return f"{moved} would read differently; change it by hand"
    return None


def _fatal(engine: ParsedEngine, release: Release) -> set[tuple[str, str]]:
    reading = read_arguments(engine, flag_table(release))
    return {(issue.flag, issue.message) for issue in reading.issues if issue.fatal}


def _touched(one: ParsedEngine, other: ParsedEngine, flag: str) -> str | None:
    """An argument beside the rewritten one whose value changed."""
    before, after = (
        {
            name: _bare(value)
            for name, value in read_arguments(e, any_release_table()).settings.items()
        }
        for e in (one, other)
    )
    own = normalized(flag).lstrip("-").replace("-", "_")
    return next(
        (
            name
            for name, value in before.items()
            if name != own and after.get(name) != value and not _grew(value, after.get(name))
        ),
        None,
    )


def _grew(value: object, new: object) -> bool:
    """Whether a JSON value only gained keys: `--speculative-config.model` beside another."""
    return (
        isinstance(value, Mapping)
        and isinstance(new, Mapping)
        and all(new.get(key) == item for key, item in value.items())
    )


def _bare(value: Known[Any] | Unknown) -> Any:
    return value.value if isinstance(value, Known) else value.reason
