"""docs/rules.md (the language, every fact, every rule) and a page for each rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pages.markdown import GENERATED, cell, page, table
from scheduler_reader.explain.rules import explain_rule
from scheduler_reader.report import wording
from scheduler_reader.report.rule_help import linked_source
from scheduler_reader.rule_engine import all_rules
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.vocabulary import FUNCTIONS, computed_facts

EXAMPLES = {
    "bad": "Found in",
    "good": "Not found in",
    "unknown": "Not evaluated, for want of a fact, in",
}
LANGUAGE = """\
A rule is one YAML file below `rules/`, or in a folder given with `--rules`: `<CODE>-<name>.yaml`.

| field | meaning |
|---|---|
| `code`, `name` | `MEM104`, `utilization-leaves-no-margin`; a code is never used again |
| `default` | which of vLLM's defaults it is about: `paged_attention`, `continuous_batching`, `chunked_prefill`, `none` |
| `severity` | `error`, `warning`, `note` |
| `confidence` | `high`, `medium`, `low`: how sure the finding is, whatever its severity |
| `effect` | `refused` (vLLM exits), `ignored`, `changed` (vLLM sets another value), `warned`, `risk`, `advice` |
| `versions` | the vLLM releases it holds for, a PEP 440 specifier; absent: all |
| `when` | an expression over facts; true is a finding |
| `for_each` | a list fact: the rule is evaluated for each item, which is called `it` |
| `blames` | the engine argument whose place is reported; absent: the first that `when` names |
| `message`, `why` | what is wrong at which value, and why it matters here; `{...}` holds an expression |
| `fix` | `text`, and `set`: argument to value (null removes it; a value in braces is an expression) |
| `source`, `since` | where vLLM does this, and the release of sched-reader that has the rule |
| `examples` | `bad`, `good` and `unknown`, each with a `command` or the text of a `file` (named by `path`, else as YAML), and `version`, `gpu`, `gpu_count`; or with `facts` |

A number in a sentence has thousands separators; `{x:gib}`, `{x:percent}`, `{x:ms}` add a unit, `{x:plain}` adds nothing.

An expression has numbers, texts, `True`, `False`, `None`, lists, `and`, `or`, `not`, comparisons, `in`, arithmetic,
`a if b else c`, and the functions and facts below. It has a third truth value: where the answer depends on a fact that
is not known, the rule is reported as not evaluated. Every engine argument of any release is a fact under its
own name (`max_num_seqs`): the value that will run, None where the release has no such argument."""


def rule_pages() -> dict[str, str]:
    """Path below docs/ → text."""
    return {"rules.md": _index()} | {f"rules/{rule.code}.md": _rule(rule) for rule in all_rules()}


def _index() -> str:
    rules = all_rules()
    return page(
        "# Rules",
        GENERATED,
        LANGUAGE,
        "## Functions",
        table(
            ("function", "arguments", "gives", "meaning"),
            (
                (f"`{name}`", str(function.parameters), function.kind, function.meaning)
                for name, function in FUNCTIONS.items()
            ),
        ),
        "## Facts",
        table(
            ("fact", "kind", "meaning"),
            (
                (f"`{name}`", fact.kind.replace("list:", "list of "), fact.meaning)
                for name, fact in sorted(computed_facts().items())
            ),
        ),
        f"## The {len(rules)} rules",
        table(
            ("code", "name", "severity, effect", "vLLM"),
            (
                (
                    f"[{rule.code}](rules/{rule.code}.md)",
                    rule.name,
                    f"{rule.severity}, {rule.effect}",
                    rule.versions,
                )
                for rule in rules
            ),
        ),
    )


def _rule(rule: Rule) -> str:
    facts = explain_rule(rule).facts
    when = f"for each of {rule.for_each}:\n{rule.when}" if rule.for_each else rule.when
    return page(
        f"# {rule.code} {rule.name}",
        table(
            ("", ""),
            (
                ("severity", f"{rule.severity}, {rule.confidence} confidence"),
                ("effect", rule.effect),
                ("default it is about", rule.default),
                ("vLLM", rule.versions),
                ("since", f"sched-reader {rule.since}"),
                ("source", linked_source(rule.source)),
            ),
        ),
        "## What it says",
        cell(rule.message),
        cell(rule.why),
        "## What to do",
        cell(rule.fix_text),
        _changes(rule.fix_set),
        "## When",
        f"```\n{when.strip()}\n```",
        table(("fact", "kind", "meaning"), ((f"`{f.name}`", f.kind, f.meaning) for f in facts)),
        "## Examples",
        *(_examples(kind, examples) for kind, examples in rule.examples.items()),
        "[All rules](../rules.md)",
    )


def _changes(changes: Mapping[str, Any]) -> str:
    if not changes:
        return ""
    lines = [f"{wording.option(name)}: {_value(value)}" for name, value in changes.items()]
    return "\n".join(f"- `{line}`" for line in lines)


def _value(value: Any) -> str:
    return "remove it" if value is None else str(value)


def _examples(kind: str, examples: Any) -> str:
    lines = "\n".join(_example(example) for example in examples)
    return f"{EXAMPLES[kind]}\n\n```\n{lines}\n```" if lines else ""


def _example(example: Mapping[str, Any]) -> str:
    if "file" in example:
        return str(example["file"])
    if "command" not in example:
        return json.dumps(example.get("facts", example), ensure_ascii=False)
    target = [str(example[key]) for key in ("version", "gpu", "gpu_count") if key in example]
    said = f"  # {', '.join(target)}" if target else ""
    return f"{str(example['command']).strip()}{said}"
