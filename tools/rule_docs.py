"""Write docs/rules.md: the rule language, every fact a rule can name, and every rule.

    python tools/rule_docs.py

A test fails where the page is not what this writes.
"""

from __future__ import annotations

from pathlib import Path

from scheduler_reader.rule_engine import all_rules
from scheduler_reader.rule_engine.vocabulary import FUNCTIONS, computed_facts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules.md"

LANGUAGE = """\
# Rules

Written by `python tools/rule_docs.py`; edit the rule files or this tool instead.

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
| `examples` | `bad`, `good` and `unknown`, each with a `command` (and `version`, `gpu`, `gpu_count`) or `facts` |

A number in a sentence has thousands separators; `{x:gib}`, `{x:percent}`, `{x:ms}` add a unit, `{x:plain}` adds nothing.

An expression has numbers, texts, `True`, `False`, `None`, lists, `and`, `or`, `not`, comparisons, `in`, arithmetic,
`a if b else c`, and the functions and facts below. It has a third truth value: where the answer depends on a fact that
is not known, the rule is reported as not evaluated. Every engine argument of any release is a fact under its
own name (`max_num_seqs`): the value that will run, None where the release has no such argument.
"""


def page() -> str:
    """The text of docs/rules.md."""
    functions = [
        f"| `{name}` | {function.parameters} | {function.kind} | {function.meaning} |"
        for name, function in FUNCTIONS.items()
    ]
    facts = [
        f"| `{name}` | {fact.kind.replace('list:', 'list of ')} | {_cell(fact.meaning)} |"
        for name, fact in sorted(computed_facts().items())
    ]
    rules = [
        f"| {rule.code} | {rule.name} | {rule.severity}, {rule.effect} | {_cell(rule.versions)} |"
        for rule in all_rules()
    ]
    return "\n".join(
        [
            LANGUAGE,
            "## Functions\n",
            "| function | arguments | gives | meaning |\n|---|---|---|---|",
            *functions,
            "\n## Facts\n",
            "| fact | kind | meaning |\n|---|---|---|",
            *facts,
            f"\n## The {len(rules)} rules\n",
            "| code | name | severity, effect | vLLM |\n|---|---|---|---|",
            *rules,
            "",
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
