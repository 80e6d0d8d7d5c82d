"""A mistake in a rule is found when it is loaded, and named by file and field."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_reader.errors import DataError, UsageError
from scheduler_reader.knowledge.versions import find_release
from scheduler_reader.rule_engine import evaluate, rules_for
from scheduler_reader.rule_engine.facts import GivenFacts

RULE: dict[str, Any] = {
    "code": "MYR001",
    "name": "too-many-seqs",
    "default": "continuous_batching",
    "severity": "warning",
    "confidence": "high",
    "effect": "advice",
    "versions": ">=0.18.0",
    "when": "max_num_seqs > 128 and not uses_mla",
    "message": "max_num_seqs is {max_num_seqs}.",
    "why": "Ours holds {workload_concurrency} requests.",
    "fix": {"set": {"max_num_seqs": "{max_num_seqs // 2}"}, "text": "Halve it."},
    "source": "our own runbook",
    "since": "0.1.0",
    "examples": {},
}


def written(folder: Path, **changes: Any) -> Path:
    rule = copy.deepcopy(RULE) | changes
    rule = {field: value for field, value in rule.items() if value is not ...}
    (folder / "own.yaml").write_text(yaml.safe_dump(rule))
    return folder


def test_a_rule_of_the_users_own(tmp_path: Path) -> None:
    rules = [
        compiled
        for compiled in rules_for(find_release("0.18.0"), [written(tmp_path)])
        if compiled.rule.code == "MYR001"
    ]
    findings, missing = evaluate(rules, GivenFacts({"max_num_seqs": 256, "uses_mla": False}))
    assert not missing
    assert findings[0].message == "max_num_seqs is 256."
    assert findings[0].why == "Ours holds unknown requests."
    assert findings[0].fix == {"max_num_seqs": 128}


def test_a_rule_holds_for_its_releases_only(tmp_path: Path) -> None:
    rules = rules_for(find_release("0.17.1"), [written(tmp_path)])
    assert all(compiled.rule.code != "MYR001" for compiled in rules)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"why": ...}, "why: missing"),
        ({"colour": "red"}, "colour: no such field"),
        ({"severity": "fatal"}, "severity: must be one of error, warning, note"),
        ({"message": ""}, "message: must be text"),
        ({"fix": {"set": {}}}, r"fix\.text: must be text"),
        ({"versions": "after 0.18"}, "versions: "),
        ({"when": "max_num_seqs >"}, "when: invalid syntax"),
        ({"when": "max_num_sequences > 1"}, "when: no fact or engine argument 'max_num_sequences'"),
        ({"when": "max_num_seqs"}, "when: is a number, not true or false"),
        ({"when": "max_num_seqs > 'many'"}, "when: cannot compare number with text"),
        ({"when": "model_id == 3"}, "when: cannot compare text with number"),
        ({"when": "uses_mla and max_num_seqs"}, "when: max_num_seqs is a number, not a flag"),
        ({"when": "is_set('max_seqs')"}, "when: is_set needs an engine argument"),
        ({"when": "is_set(model_id)"}, "when: is_set needs an engine argument"),
        ({"when": "open('/etc/passwd') == 1"}, "when: no function open with 1 arguments"),
        ({"when": "env('A', 'B') == ''"}, "when: no function env with 2 arguments"),
        ({"when": "model_id.upper == 1"}, "when: only `it` has fields"),
        ({"when": "[n for n in model_id] == 1"}, "when: ListComp is not part of the rule language"),
        ({"when": "it.kind == 'x'"}, "when: no field 'kind' of `it`"),
        ({"for_each": "max_num_seqs"}, "for_each: max_num_seqs is no list"),
        ({"for_each": "flag_issues", "when": "it.colour == 1"}, "when: no field 'colour' of `it`"),
        ({"blames": "everybody"}, "blames: no engine argument everybody"),
        ({"message": "{seqs}"}, "message: no fact or engine argument 'seqs'"),
        ({"why": "{max_num_seqs:inches}"}, "why: no format 'inches'"),
        ({"fix": {"text": "{seqs}"}}, r"fix\.text: no fact or engine argument 'seqs'"),
        ({"fix": {"text": "x", "set": {"seqs": 1}}}, r"fix\.set: no engine argument seqs"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    with pytest.raises(DataError, match=rf"own\.yaml: {what}"):
        rules_for(find_release("0.18.0"), [written(tmp_path, **changes)])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        rules_for(find_release("0.18.0"), [tmp_path / "none"])
