"""Expressions: three truth values, None, and what is not part of the language."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.rule_engine.expression import Evaluator, MissingFact, parse
from scheduler_reader.value import Unknown

VALUES: dict[str, Any] = {
    "yes": True,
    "no": False,
    "maybe": Unknown("nobody says"),
    "seqs": 64,
    "method": "ngram",
    "nothing": None,
}


def evaluate(text: str, values: dict[str, Any] = VALUES) -> Any:
    return Evaluator(values.__getitem__, {"min": min, "half": lambda n: n / 2}).result(parse(text))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("no and maybe", False),
        ("maybe and no", False),
        ("yes or maybe", True),
        ("maybe or yes", True),
        ("seqs > 32 and method in ('ngram', 'eagle')", True),
        ("seqs * 2 + 1", 129),
        ("min(seqs, 10)", 10),
        ("'gram' in method", True),
        ("nothing == None", True),
        ("method if yes else maybe", "ngram"),
    ],
)
def test_result_that_no_unknown_can_change(text: str, result: object) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    "text", ["maybe", "yes and maybe", "maybe or no", "not maybe", "maybe > 3", "half(maybe)"]
)
def test_result_that_depends_on_an_unknown(text: str) -> None:
    with pytest.raises(MissingFact) as caught:
        evaluate(text)
    assert caught.value.reason == "nobody says"


@pytest.mark.parametrize("text", ["nothing > 3", "seqs - nothing", "min(seqs, nothing)"])
def test_nothing_cannot_be_ordered_or_calculated_with(text: str) -> None:
    with pytest.raises(MissingFact, match="nothing has no value"):
        evaluate(text)


def test_division_by_zero_is_no_answer() -> None:
    with pytest.raises(MissingFact, match=r"seqs - 64 is 0"):
        evaluate("10 % (seqs - 64) > 0")


@pytest.mark.parametrize("text", ["seqs > method", "method + seqs", "seqs in seqs"])
def test_odd_values_give_no_answer(text: str) -> None:
    with pytest.raises(MissingFact, match="seqs is 64"):
        evaluate(text)


@pytest.mark.parametrize("text", ["seqs >", "a; b", "x = 1", ""])
def test_text_that_is_no_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"expression|invalid"):
        parse(text)


TRUTH = st.sampled_from([True, False, None])


@given(left=TRUTH, right=TRUTH, operator=st.sampled_from(["and", "or"]))
def test_unknown_operands_decide_as_every_value_they_could_have(
    left: bool | None, right: bool | None, operator: str
) -> None:
    """The answer is known exactly when all fillings of the unknowns agree (Kleene's logic)."""

    def filled(value: bool | None) -> list[bool]:
        return [True, False] if value is None else [value]

    answers = {
        (a and b) if operator == "and" else (a or b) for a in filled(left) for b in filled(right)
    }
    values = {
        "left": Unknown("left") if left is None else left,
        "right": Unknown("right") if right is None else right,
    }
    try:
        found = {evaluate(f"left {operator} right", values)}
    except MissingFact:
        found = {True, False}
    assert found == answers
