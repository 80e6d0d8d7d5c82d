"""What a word means."""

from __future__ import annotations

import pytest

from scheduler_reader.errors import UsageError
from scheduler_reader.explain.flags import FlagExplanation
from scheduler_reader.explain.lookup import explain
from scheduler_reader.explain.rules import RuleExplanation
from scheduler_reader.explain.terms import Term, all_terms, find_term, plain
from scheduler_reader.knowledge.flags import lifetime


@pytest.mark.parametrize("word", ["CMB024", "cmb024", "async-scheduling-with-speculation"])
def test_a_rule_by_code_or_name(word: str) -> None:
    (found,) = explain(word)
    assert isinstance(found, RuleExplanation)
    assert [fact.name for fact in found.facts] == ["async_scheduling", "uses_speculation"]


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("--max-num-seqs", "--max-num-seqs"),
        ("max_num_seqs", "--max-num-seqs"),
        ("--max_num_seqs", "--max-num-seqs"),
        ("-tp", "--tensor-parallel-size"),
        ("--speculative-config.method", "--speculative-config"),
        ("--no-enable-prefix-caching", "--enable-prefix-caching"),
    ],
)
def test_a_flag_by_any_of_its_names(word: str, flag: str) -> None:
    found = explain(word)[0]
    assert isinstance(found, FlagExplanation)
    assert found.name == flag


def test_a_word_that_is_flag_and_term_is_both() -> None:
    assert [type(found) for found in explain("watermark")] == [FlagExplanation, Term]


@pytest.mark.parametrize("word", ["inter-token latency", "Inter Token_Latency", "itl"])
def test_a_term_by_any_spelling(word: str) -> None:
    (found,) = explain(word)
    assert isinstance(found, Term)
    assert found.name == "ITL"


@pytest.mark.parametrize(
    ("word", "near"),
    [("--max-num-seq", "--max-num-seqs"), ("chunked-prefil", "chunked prefill"), ("CMB02", "CMB0")],
)
def test_an_unknown_word_names_its_neighbours(word: str, near: str) -> None:
    with pytest.raises(UsageError, match="did you mean") as error:
        explain(word)
    assert near in error.value.message


def test_the_budget_by_hardware_and_context() -> None:
    found = explain("--max-num-batched-tokens")[0]
    assert isinstance(found, FlagExplanation)
    newest = {
        deployment: row.spans[-1].value for row in found.defaults for deployment in row.deployments
    }
    assert newest["server, H100 80 GB"] == 8192
    assert newest["LLM class, H100 80 GB"] == 16384
    assert newest["server, A100 80 GB"] == 2048
    assert newest["server, B200 180 GB"] == 16384


def test_hybrid_models_cache_prefixes_by_default_from_0_28() -> None:
    found = explain("--enable-prefix-caching")[0]
    assert isinstance(found, FlagExplanation)
    hybrid = next(row for row in found.defaults if "hybrid" in row.deployments[0])
    assert [(span.since, span.value) for span in hybrid.spans] == [
        ("0.10.2", False),
        ("0.28.0", True),
    ]


@pytest.mark.parametrize("term", all_terms(), ids=lambda term: term.name)
def test_a_term_names_flags_that_exist_and_is_found_by_its_spellings(term: Term) -> None:
    assert [flag for flag in term.flags if lifetime(flag) is None] == []
    assert {find_term(spelling) for spelling in (term.name, *term.also)} == {term}


def test_no_spelling_means_two_terms() -> None:
    spellings = [
        spelling
        for term in all_terms()
        for spelling in {plain(word) for word in (term.name, *term.also)}
    ]
    assert len(spellings) == len(set(spellings))
