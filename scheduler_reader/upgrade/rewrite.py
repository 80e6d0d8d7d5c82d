"""`upgrade --fix`: rename in a file what a release calls otherwise, and check the result.

Every edit is made alone and the text is read again: the option must be gone, the release must
refuse nothing that it did not refuse before, and every other option must read as it did.  An edit
that does not pass is taken back and told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.flags import any_release_table, flag_table
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.upgrade.mapping import (
    Candidate,
    argument_of,
    json_option,
    rewritten,
    switch_of,
)
from scheduler_reader.upgrade.text_edit import NotEditable
from scheduler_reader.value import Known, Origin, Unknown


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


def rewrite(text: str, path: str, release: Release, earlier: Release | None = None) -> Rewritten:
    """Rewrite the options of a file that `release` no longer has, or takes without their value.

    Options that go into one JSON option together (`--speculative-config`) are rewritten all or
    none.  A `false` that `release` drops is put into words only where `earlier` did not drop it
    too.  Raises `InputError` when the text cannot be read.
    """
    candidates = _candidates(text, path, release, earlier)
    once = _rewrite_all(text, path, release, candidates, frozenset())
    halves = _targets(once, is_done=True) & _targets(once, is_done=False)
    return _rewrite_all(text, path, release, candidates, halves) if halves else once


def rewrite_option(text: str, path: str, release: Release, origin: Origin) -> Rewritten | None:
    """The text with only the option at `origin` rewritten; None where that cannot be done."""
    found = [one for one in _candidates(text, path, release, None) if one.issue.origin == origin]
    done = _rewrite_all(text, path, release, found, frozenset())
    return done if found and all(one.is_done for one in done.rewrites) else None


def _rewrite_all(
    text: str,
    path: str,
    release: Release,
    candidates: Sequence[Candidate],
    left: frozenset[str],
) -> Rewritten:
    """One pass over the file; options that would go into one of `left` are not touched."""
    current = text
    rewrites = []
    for candidate in candidates:
        issue = candidate.issue
        try:
            changed, into, reason = rewritten(current, path, candidate, release)
            if into is not None and json_option(issue.flag) in left:
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


def _targets(done: Rewritten, is_done: bool) -> frozenset[str]:
    """The JSON options that rewrites of one outcome go into."""
    return frozenset(json_option(one.flag) for one in done.rewrites if one.is_done is is_done) - {
        ""
    }


def _candidates(text: str, path: str, release: Release, earlier: Release | None) -> list[Candidate]:
    """Every option to rewrite, the last in the file first, so that places stay true."""
    found = {}
    for engine in parse_text(text, path).engines:
        given = read_arguments(engine, any_release_table()).settings
        before = read_arguments(engine, flag_table(earlier)).settings if earlier else {}
        for issue in read_arguments(engine, flag_table(release)).issues:
            name = argument_of(issue.flag)
            value = given.get(name)
            if issue.kind == "dropped" and name not in before:
                continue
            if issue.kind == "removed" or switch_of(issue, value, release):
                found[str(issue.origin), issue.flag] = Candidate(issue, value)
    return sorted(
        found.values(),
        key=lambda one: (one.issue.origin.line or 0, one.issue.origin.column or 0),
        reverse=True,
    )


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
    own = argument_of(flag)
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
