"""Every rule carries examples, and each does what it says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command, parse_text
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine import Facts, all_rules, evaluate
from scheduler_reader.rule_engine.check import check_rule
from scheduler_reader.rule_engine.facts import GivenFacts
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.vocabulary import find_fact
from scheduler_reader.value import Known, Origin, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

RULES = all_rules()
EXAMPLES = [
    pytest.param(rule, verdict, example, id=f"{rule.code}-{verdict}-{number}")
    for rule in RULES
    for verdict, examples in rule.examples.items()
    for number, example in enumerate(examples)
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_is_sound(rule: Rule) -> None:
    check_rule(rule)
    assert rule.examples.get("bad"), "a rule needs an example that it finds"
    assert rule.examples.get("good"), "a rule needs an example that it leaves alone"
    assert rule.examples.keys() <= {"bad", "good", "unknown"}
    assert rule.path.endswith(f"/{rule.code}-{rule.name}.yaml")


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("rule", "verdict", "example"), EXAMPLES)
def test_example(rule: Rule, verdict: str, example: Mapping[str, Any]) -> None:
    facts = given_facts(example["facts"]) if "facts" in example else facts_of_engine(example)
    findings, missing = evaluate([check_rule(rule)], facts)
    if verdict == "bad":
        assert findings
        assert "unknown" not in findings[0].message, findings[0].message
    else:
        assert not findings
    assert bool(missing) is (verdict == "unknown"), missing


def given_facts(facts: Mapping[str, Any]) -> Facts:
    """A unit example: the facts are written out."""
    for name in facts.keys() - {"env", "given", "defaults", "policy"}:
        assert find_fact(name), f"no fact {name}"
    return GivenFacts(facts)


def facts_of_engine(example: Mapping[str, Any]) -> Facts:
    """A command line or the first engine of a file, read, resolved and planned; nothing is predicted."""
    if "file" in example:
        parsed = parse_text(example["file"], example.get("path", "example.yaml")).engines[0]
    else:
        (parsed,) = parse_command(shlex.split(example["command"])).engines
    engine = resolve(
        parsed,
        ResolveOptions(
            vllm_version=example.get("version"),
            gpu=example.get("gpu"),
            gpu_count=example.get("gpu_count"),
        ),
    )
    plan = plan_capacity(engine, DEFAULT_WORKLOAD)
    nothing = Unknown("rule examples predict nothing")
    stated = Origin("option", "--policy")
    policy = {name: Known(value, stated) for name, value in example.get("policy", {}).items()}
    return Facts.of(engine, plan, nothing, nothing, DEFAULT_WORKLOAD, Slo(), policy=policy)
