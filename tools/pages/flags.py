"""docs/flags.md and one page a group of options, each option with its ranges of releases.

A page a group rather than one an option: a release touches most options, and twenty pages with an
anchor for each option are read and compared more easily than four hundred files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pages.markdown import GENERATED, page, table
from scheduler_reader.data import json_file
from scheduler_reader.explain.flags import FlagExplanation, FlagRange, explain_flag
from scheduler_reader.knowledge.flags import any_release_table
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.explain import TYPES

NO_GROUP = "Other"
MOST_ITEMS = 12
INTRODUCTION = """\
The options of `vllm serve` in every release from {first} to {last}: what they take, what they control in the
scheduler, what they become when nobody states them, and what took the place of those that are gone. In a
terminal, `sched-reader explain --max-num-seqs` says the same, and `sched-reader list flags --vllm-version V`
prints the table of one release."""


def flag_pages() -> dict[str, str]:
    """Path below docs/ → text."""
    groups: dict[str, list[FlagExplanation]] = {}
    for name, flag in sorted(any_release_table().flags.items()):
        groups.setdefault(flag.group or NO_GROUP, []).append(explain_flag(name))
    pages = {f"flags/{group}.md": _group(group, flags) for group, flags in groups.items()}
    return {"flags.md": _index(groups)} | pages


def _index(groups: dict[str, list[FlagExplanation]]) -> str:
    sections = [
        block
        for group, flags in sorted(groups.items())
        for block in (f"## [{group}](flags/{group}.md)", _list(group, flags))
    ]
    introduction = INTRODUCTION.format(first=releases()[0], last=releases()[-1])
    return page("# Options of `vllm serve`", GENERATED, introduction, *sections)


def _list(group: str, flags: Iterable[FlagExplanation]) -> str:
    return table(
        ("option", "vLLM", "what it controls"),
        (
            (
                f"[`{flag.name}`](flags/{group}.md#{flag.name})",
                _lifetime(flag),
                flag.controls or "",
            )
            for flag in flags
        ),
    )


def _group(group: str, flags: Iterable[FlagExplanation]) -> str:
    title = group if group != NO_GROUP else "Options without a group"
    blocks = [block for flag in flags for block in _flag(flag)]
    return page(f"# {title}", GENERATED, "[All options](../flags.md)", *blocks)


def _flag(flag: FlagExplanation) -> list[str]:
    also = ", ".join(f"`{alias}`" for alias in flag.aliases)
    rules = ", ".join(f"[{rule.code}](../rules/{rule.code}.md) {rule.name}" for rule in flag.rules)
    return [
        f"## `{flag.name}`",
        flag.controls or "",
        _gone(flag),
        f"Also {also}." if also else "",
        table(("vLLM", "takes", "default", "choices"), map(_range, flag.ranges)),
        _resolved(flag),
        f"Rules: {rules}." if rules else "",
    ]


def _gone(flag: FlagExplanation) -> str:
    if not flag.is_gone:
        return ""
    successor = flag.replacement
    use = f" Use {successor.use}." if successor and successor.use else ""
    note = f" ({successor.note})" if successor and successor.note else ""
    return f"Gone after {flag.ranges[-1].until}.{use}{note}"


def _range(one: FlagRange) -> tuple[str, str, str, str]:
    kind = TYPES.get(one.type, one.type.replace("json:", "JSON, "))
    deprecated = f"; deprecated, {one.deprecated}" if one.deprecated else ""
    choices = ", ".join(
        "None" if choice is None else f"`{_plain(choice)}`" for choice in one.choices or ()
    )
    return _span(one.since, one.until), kind + deprecated, _value(one.default), choices


def _plain(choice: Any) -> str:
    return str(choice["dynamic"]) if isinstance(choice, dict) else str(choice)


def _resolved(flag: FlagExplanation) -> str:
    rows = [
        ("; ".join(row.deployments), _span(span.since, span.until), _value(span.value), span.rule)
        for row in flag.defaults
        for span in row.spans
    ]
    shown = table(("deployment", "vLLM", "becomes", "because"), rows)
    return f"When nobody states it:\n\n{shown}" if shown else ""


def _value(value: Any) -> str:
    if isinstance(value, dict) and "dynamic" in value:
        return f"where it runs: `{value['dynamic']}`"
    if isinstance(value, list | tuple) and len(value) > MOST_ITEMS:
        return f"{len(value)} of {min(value):,}–{max(value):,}"
    return wording.setting_text(value)


def _lifetime(flag: FlagExplanation) -> str:
    return _span(json_file("flags.json")["flags"][flag.name][0]["from"], flag.ranges[-1].until)


def _span(since: str, until: str) -> str:
    """`0.9.0–0.18.1`; what still holds has no end, so that a new release changes no line."""
    if until == releases()[-1]:
        return f"{since}–"
    return since if since == until else f"{since}–{until}"
