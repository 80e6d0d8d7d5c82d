"""Stored points: an interrupted search goes on, and says the same as one that was not."""

from __future__ import annotations

import json

import pytest

from scheduler_reader.report.tuning.json import render
from scheduler_reader.tune.store import case_digest, open_store
from scheduler_reader.tune.sweep import one_by_one, sweep
from scheduler_reader.tune.tuner import Wishes

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"


def never(tasks):
    raise AssertionError(f"{len(tasks)} points are evaluated again")
    yield


def interrupted_after(points):
    """An evaluation that Ctrl-C ends after so many points."""
    left = points

    def evaluate(tasks):
        nonlocal left
        for each in one_by_one(tasks):
            if not left:
                raise KeyboardInterrupt
            left -= 1
            yield each

    return evaluate


@pytest.fixture(scope="module")
def cases(case):
    return [case(LLAMA_8B + " --max-num-seqs 4"), case(LLAMA_8B + " --max-num-seqs 4", gpu="l4")]


@pytest.fixture(scope="module")
def whole(cases):
    with open_store(None) as store:
        return render(sweep(cases, Wishes(), store))


def test_a_second_run_evaluates_nothing_and_says_the_same(cases, whole, tmp_path):
    file = tmp_path / "points.jsonl"
    with open_store(file) as store:
        assert render(sweep(cases, Wishes(), store)) == whole
    with open_store(file) as store:
        missing = lambda tasks: never(tasks) if tasks else iter(())  # noqa: E731
        assert render(sweep(cases, Wishes(), store, missing)) == whole
        assert store.added == 0


@pytest.mark.parametrize("points", [0, 1, 40])
def test_an_interrupted_run_goes_on_where_it_was(cases, whole, tmp_path, points):
    file = tmp_path / "points.jsonl"
    with pytest.raises(KeyboardInterrupt), open_store(file) as store:
        sweep(cases, Wishes(), store, interrupted_after(points))
    lines = file.read_text().splitlines()
    assert len(lines) == points
    assert all(json.loads(line)["key"] for line in lines)
    file.write_text("\n".join([*lines, '{"key": "cut of']))
    with open_store(file) as store:
        assert render(sweep(cases, Wishes(), store)) == whole
    with open_store(file) as store:
        assert render(sweep(cases, Wishes(), store)) == whole
        assert store.added == 0


def test_points_of_another_question_are_not_taken(case):
    same = case(LLAMA_8B + " --max-num-seqs 4")
    digests = {
        case_digest(each)
        for each in (
            same,
            case(LLAMA_8B + " --max-num-seqs 8"),
            case(LLAMA_8B + " --max-num-seqs 4", None),
            case(LLAMA_8B + " --max-num-seqs 4", version="0.11.0"),
            case(LLAMA_8B + " --max-num-seqs 4", gpu="l4"),
        )
    }
    assert len(digests) == 5
    assert case_digest(case(LLAMA_8B + " --max-num-seqs 4")) == case_digest(same)
