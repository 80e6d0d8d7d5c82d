"""The change of a file that the remedy of a finding is, where the file can be edited safely."""

from __future__ import annotations

from scheduler_reader.report.report import Edit
from scheduler_reader.report.wording import command_options
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.upgrade.rewrite import Rewrite, rewrite_option
from scheduler_reader.upgrade.text_edit import NotEditable
from scheduler_reader.upgrade.value_edit import with_arguments


def remedy_edit(text: str, path: str, engine: ResolvedEngine, finding: Finding) -> Edit | None:
    """The smallest replacement in a file that sets what the finding proposes to set.

    An option that the release does not have is renamed or taken out, if that is safe.
    """
    if finding.fix:
        try:
            changed = with_arguments(text, path, engine.parsed, finding.fix, engine.release)
        except NotEditable:
            return None
        return difference(path, text, changed, ", ".join(command_options(finding.fix)))
    if finding.origin is None or not finding.argument.startswith("-"):
        return None
    done = rewrite_option(text, path, engine.release, finding.origin)
    return None if done is None else difference(path, text, done.text, _words(done.rewrites[0]))


def _words(rewrite: Rewrite) -> str:
    if rewrite.into is not None:
        return f"Write {rewrite.into} instead of {rewrite.flag}"
    return f"Take {rewrite.flag} out: {rewrite.reason}"


def difference(path: str, before: str, after: str, description: str) -> Edit | None:
    """The one replacement that turns a text into another; None where they are the same."""
    if before == after:
        return None
    start = _common(before, after)
    same = _common(before[start:][::-1], after[start:][::-1])
    end = len(before) - same
    new = after[start : len(after) - same]
    return Edit(path, description, _place(before, start), _place(before, end), new)


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common from the start."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
