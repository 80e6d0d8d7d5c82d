"""The front holds what nothing beats, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.tune.pareto import CLOSE, front, thinned

FIGURES = st.tuples(*(st.floats(1, 1000) for _ in range(3))).map(
    lambda numbers: dict(
        zip(("output_tokens_per_s", "ttft_p99_ms", "itl_p99_ms"), numbers, strict=True)
    )
)


def point(tokens, ttft, itl):
    return {"output_tokens_per_s": tokens, "ttft_p99_ms": ttft, "itl_p99_ms": itl}


def test_a_point_that_is_worse_in_all_three_is_left_out():
    found = front([("slow", point(90, 200, 20)), ("fast", point(100, 100, 10))])
    assert [name for name, _ in found] == ["fast"]


def test_each_kind_of_best_is_kept_the_highest_throughput_first():
    points = [
        ("itl", point(50, 300, 5)),
        ("tokens", point(100, 200, 20)),
        ("ttft", point(70, 50, 9)),
    ]
    assert [name for name, _ in front(points)] == ["tokens", "ttft", "itl"]


def test_of_points_that_are_alike_the_first_is_kept():
    alike = point(100.5, 99.6, 10)
    assert [name for name, _ in front([("a", point(100, 100, 10)), ("b", alike)])] == ["a"]


def test_a_load_without_a_tail_never_beats_one_with():
    found = front([("saturated", point(100, None, None)), ("served", point(90, 100, 10))])
    assert [name for name, _ in found] == ["saturated", "served"]


@given(st.lists(FIGURES, max_size=12))
def test_every_point_is_covered_by_the_front(points):
    named = list(enumerate(points))
    kept = front(named)
    assert {number for number, _ in kept} <= set(range(len(points)))
    slack = (1 + CLOSE) ** (len(points) + 1)  # what replaced a point may itself be replaced
    for _, figures in named:
        assert any(
            one["output_tokens_per_s"] * slack >= figures["output_tokens_per_s"]
            and one["ttft_p99_ms"] <= figures["ttft_p99_ms"] * slack
            and one["itl_p99_ms"] <= figures["itl_p99_ms"] * slack
            for _, one in kept
        )


def test_thinning_keeps_the_ends():
    assert thinned(list(range(100)), 5) == [0, 25, 50, 74, 99]
    assert thinned([1, 2], 5) == [1, 2]
