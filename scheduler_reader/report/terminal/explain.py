"""A rule, a flag, a term or a quoted figure for people: `sched-reader explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.claims.claim import Verdict
from scheduler_reader.explain.defaults import DefaultRow
from scheduler_reader.explain.flags import FlagExplanation, FlagRange
from scheduler_reader.explain.lookup import Explanation
from scheduler_reader.explain.rules import RuleExplanation
from scheduler_reader.explain.terms import Term
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout

if TYPE_CHECKING:
    from rich.console import Console

TYPES = {
    "flag": "switch",
    "bool": "on/off pair",
    "bool-value": "true or false",
    "int": "whole number",
    "human_int": "whole number, also 8k or 8K",
    "human_int_or_auto": "whole number, also 8k, auto or -1",
    "float": "number",
    "str": "text",
    "json": "JSON",
    "json_or_str": "JSON or text",
}
MOST_ITEMS = 8


def render(explanations: Sequence[Explanation], console: Console) -> None:
    """Print everything that a word means."""
    layout = Layout(console)
    for i, explanation in enumerate(explanations):
        layout.print([*([BLANK] if i else []), *_one(explanation)])


def _one(explanation: Explanation) -> Iterator[Block]:
    if isinstance(explanation, RuleExplanation):
        yield from _rule(explanation)
    elif isinstance(explanation, FlagExplanation):
        yield from _flag(explanation)
    elif isinstance(explanation, Verdict):
        from scheduler_reader.report.terminal import claim

        yield from claim.blocks(explanation)
    else:
        yield from _term(explanation)


def _rule(explanation: RuleExplanation) -> Iterator[Block]:
    rule = explanation.rule
    yield heading(f"{rule.code} {rule.name}")
    rows = [
        ("severity", f"{rule.severity}, {rule.confidence} confidence"),
        ("effect", rule.effect),
        ("vLLM", rule.versions),
        ("about", wording.DEFAULTS[rule.default]),
        ("when", f"for each of {rule.for_each}: {rule.when}" if rule.for_each else rule.when),
        ("says", rule.message),
        ("why", rule.why),
        ("fix", ", ".join(filter(None, (*_options(rule.fix_set), rule.fix_text)))),
        ("source", rule.source),
        ("since", f"sched-reader {rule.since}"),
    ]
    yield _table(rows)
    if explanation.facts:
        yield BLANK
        yield heading("Facts it uses")
        yield _table([(fact.name, f"{fact.meaning} ({fact.kind})") for fact in explanation.facts])
    yield BLANK
    yield heading("Examples")
    yield _table(
        [
            (kind, _example(example))
            for kind, examples in rule.examples.items()
            for example in examples
        ]
    )


def _options(changes: Any) -> list[str]:
    return [
        f"{wording.option(name)} {value}" if str(value).startswith("{") else command
        for (name, value), command in zip(
            changes.items(), wording.command_options(changes), strict=True
        )
    ]


def _example(example: Any) -> str:
    if "command" not in example:
        return json.dumps(example.get("facts", example), ensure_ascii=False)
    target = [str(example[key]) for key in ("version", "gpu", "gpu_count") if key in example]
    return f"{example['command']} ({', '.join(target)})" if target else str(example["command"])


def _flag(flag: FlagExplanation) -> Iterator[Block]:
    names = f"  also {', '.join(flag.aliases)}" if flag.aliases else ""
    yield heading(flag.name, names)
    if flag.controls:
        yield paragraph(flag.controls, indent=2)
    if flag.is_gone:
        yield _gone(flag)
    yield BLANK
    yield heading("What it takes")
    yield Columns(tuple(_range(one) for one in flag.ranges), "lll")
    if flag.defaults:
        yield BLANK
        yield heading("What it becomes when nobody states it")
        for row in flag.defaults:
            yield from _defaults(row)
    if flag.rules:
        yield BLANK
        yield heading("Rules about it")
        yield _table([(rule.code, f"{rule.name} ({rule.effect})") for rule in flag.rules])
    if flag.terms:
        yield BLANK
        yield paragraph("See also: " + ", ".join(flag.terms), hang=2)


def _gone(flag: FlagExplanation) -> Block:
    successor = flag.replacement
    use = f"; use {successor.use}" if successor and successor.use else ""
    note = f" ({successor.note})" if successor and successor.note else ""
    last = flag.ranges[-1].until
    return paragraph(("gone", "warning"), f" after {last}{use}{note}", indent=2, hang=2)


def _range(one: FlagRange) -> tuple[tuple[str, str], ...]:
    parts = [TYPES.get(one.type, one.type.replace("json:", "JSON, "))]
    if one.choices:
        parts.append("one of " + ", ".join("None" if c is None else str(c) for c in one.choices))
    parts.append(f"default {_value(one.default)}")
    if one.deprecated:
        parts.append(f"deprecated, {one.deprecated}")
    return ((_span(one.since, one.until), "dim"), (parts[0], ""), ("; ".join(parts[1:]), ""))


def _defaults(row: DefaultRow) -> Iterator[Block]:
    yield paragraph(("; ".join(row.deployments), "set"), indent=2, hang=2)
    yield Columns(
        tuple(
            ((_span(one.since, one.until), "dim"), (_value(one.value), ""), (one.rule, ""))
            for one in row.spans
        ),
        "lll",
        indent=4,
    )


def _term(term: Term) -> Iterator[Block]:
    also = f"  also {', '.join(term.also)}" if term.also else ""
    yield heading(term.name, also)
    yield paragraph(term.meaning, indent=2)
    rows = [("vLLM", term.in_vllm)]
    if term.mistaken:
        rows.append(("mistaken", term.mistaken))
    if term.flags:
        rows.append(("flags", ", ".join(term.flags)))
    rows.append(("source", term.source))
    yield _table(rows)


def _table(rows: Sequence[tuple[str, str]]) -> Columns:
    return Columns(
        tuple(((name, "dim"), (" ".join(text.split()), "")) for name, text in rows), "ll"
    )


def _span(since: str, until: str) -> str:
    return since if since == until else f"{since}–{until}"


def _value(value: Any) -> str:
    if isinstance(value, dict) and "dynamic" in value:
        return f"where it runs: {value['dynamic']}"
    if isinstance(value, list | tuple) and len(value) > MOST_ITEMS:
        return f"{len(value)} of {min(value):,}–{max(value):,}"
    return wording.setting_text(value)
