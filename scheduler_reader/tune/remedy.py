"""The change of a file that the remedy of a finding is, where the file can be edited safely."""

from __future__ import annotations

from scheduler_reader.parse import parse_text
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.tune.edit import edited
from scheduler_reader.upgrade.rewrite import Rewrite, rewrite_option


class Edit(Record):
    """One replacement in a file.  Lines and columns count from 1; the end is not part of it.

    `description` is there where the finding's own proposal does not say what is done.
    """

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    description: str = ""


def remedy_edit(text: str, path: str, engine: ResolvedEngine, finding: Finding) -> Edit | None:
    """The smallest replacement in a file that sets what the finding proposes to set.

    An option that the release does not have is renamed or taken out, if that is safe.
    """
    if finding.fix:
        number = _number(text, path, engine)
        if number is None:
            return None
        done = edited(text, path, number, [finding.fix], engine.release)
        return None if done.left else difference(path, text, done.text)
    if finding.origin is None or not finding.argument.startswith("-"):
        return None
    renamed = rewrite_option(text, path, engine.release, finding.origin)
    if renamed is None:
        return None
    edit = difference(path, text, renamed.text)
    return edit and edit._replace(description=_words(renamed.rewrites[0]))


def _number(text: str, path: str, engine: ResolvedEngine) -> int | None:
    """Which engine of the text this is; None where another file has a say in it."""
    wanted = (engine.parsed.origin, engine.parsed.name)
    places = [(one.origin, one.name) for one in parse_text(text, path).engines]
    return places.index(wanted) if wanted in places else None


def _words(rewrite: Rewrite) -> str:
    if rewrite.into is not None:
        return f"Write {rewrite.into} instead of {rewrite.flag}"
    return f"Take {rewrite.flag} out: {rewrite.reason}"


def difference(path: str, before: str, after: str) -> Edit | None:
    """The one replacement that turns a text into another; None where they are the same."""
    if before == after:
        return None
    start = _common(before, after)
    same = _common(before[start:][::-1], after[start:][::-1])
    end = len(before) - same
    new = after[start : len(after) - same]
    return Edit(path, _place(before, start), _place(before, end), new)


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common from the start."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
