"""Sentences: numbers as people write them, units, and unknown facts."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_reader.rule_engine.expression import Evaluator
from scheduler_reader.rule_engine.template import parse_template
from scheduler_reader.value import Unknown

VALUES: dict[str, Any] = {
    "tokens": 131072,
    "share": 0.925,
    "memory": 71.26,
    "time": 1234.4,
    "is_on": True,
    "nothing": None,
    "methods": ["ngram", "eagle"],
    "missing": Unknown("nobody says"),
}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{tokens} tokens", "131,072 tokens"),
        ("{tokens // 2}", "65,536"),
        ("{share}", "0.93"),
        ("{share:percent}", "92%"),
        ("{memory:gib}", "71.3 GiB"),
        ("{time:ms}", "1,234 ms"),
        ("{tokens:plain}", "131072"),
        ("it is {is_on}, {nothing}", "it is on, none"),
        ("{methods}", "ngram, eagle"),
        ("{nothing:gib}", "none"),
        ("{missing} GiB, {missing:gib}", "unknown GiB, unknown"),
        ("{{literal}}", "{literal}"),
        ("{'one' if is_on else 'none'}", "one"),
    ],
)
def test_sentence(text: str, sentence: str) -> None:
    assert parse_template(text).fill(Evaluator(VALUES.__getitem__, {})) == sentence


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{tokens:furlongs}", "no format 'furlongs'"),
        ("{tokens", "expected '}'"),
        ("{tokens +}", "invalid syntax"),
        ("{}", "expression"),
    ],
)
def test_mistake_in_a_sentence(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_template(text)
