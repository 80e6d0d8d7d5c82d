"""What must hold for any engine and any requests, in every release."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.case import Case
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.request import Request
from scheduler_reader.simulate.steps import replay

RELEASES = ("0.11.2", "0.15.1", "0.18.0", "0.23.0", "0.28.0", "0.33.0")
BLOCKS = 40  # one request of at most 300 tokens fits in both groups


@st.composite
def cases(draw: st.DrawFn, **fixed: Any) -> Case:
    seqs = draw(st.integers(1, 6))
    options: dict[str, Any] = {
        "max_num_seqs": seqs,
        "max_num_batched_tokens": draw(st.integers(seqs, 96)),
        "max_model_len": 300,
        "num_gpu_blocks": BLOCKS,
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "enable_prefix_caching": draw(st.booleans()),
        "async_scheduling": draw(st.booleans()),
        "sliding_window": draw(st.sampled_from([None, 40])),
    }
    sizes = st.tuples(st.integers(1, 150), st.integers(1, 60), st.integers(0, 12))
    requests = tuple(
        Request(
            number=number,
            arrival=arrival,
            prompt_tokens=prompt,
            max_tokens=output,
            priority=number % 3,
            prefix_group=number % 2,
            prefix_tokens=min(prompt, 50),
        )
        for number, (prompt, output, arrival) in enumerate(
            draw(st.lists(sizes, min_size=1, max_size=8))
        )
    )
    return Case(EngineConfig(**options | fixed), requests, (0,), 5000, ())


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(RELEASES))
def test_every_request_ends_and_all_blocks_come_back(case: Case, version: str) -> None:
    trace = replay(case, Release(version))
    assert not trace.is_stalled
    ended = Counter(number for row in trace.steps for number in row.get("fin", ()))
    assert ended == Counter(range(len(case.requests)))
    assert all(request.held == 0 and not request.tables for request in case.requests)
    assert all(0 <= row["free"] < BLOCKS for row in trace.steps)
    assert [request.outputs for request in case.requests] == [
        request.max_tokens for request in case.requests
    ]


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(RELEASES))
def test_limits_hold_in_every_step(case: Case, version: str) -> None:
    for row in replay(case, Release(version)).steps:
        assert sum(tokens for _, tokens in row["s"]) <= case.config.max_num_batched_tokens
        assert len(row["run"]) <= case.config.max_num_seqs
        assert not set(row["run"]) & set(row.get("wq", ()))
        assert not (row.get("pre") and (row.get("new") or row.get("res")))


@settings(max_examples=40, deadline=None)
@given(
    cases(enable_prefix_caching=False, async_scheduling=False, num_gpu_blocks=1000),
    st.sampled_from(RELEASES),
)
def test_each_token_is_computed_once(case: Case, version: str) -> None:
    computed: Counter[int] = Counter()
    for row in replay(case, Release(version)).steps:
        for number, tokens in row["s"]:
            computed[number] += tokens
    for request in case.requests:  # the last output is never computed on
        assert computed[request.number] == request.prompt_tokens + request.max_tokens - 1


@settings(max_examples=40, deadline=None)
@given(cases(num_gpu_blocks=1000), st.sampled_from(RELEASES))
def test_caching_with_nothing_in_common_changes_nothing(case: Case, version: str) -> None:
    decisions = []
    for caching in (False, True):
        requests = tuple(_without_prefix(request) for request in case.requests)
        options = {name: getattr(case.config, name) for name in EngineConfig.__slots__}
        config = EngineConfig(**options | {"enable_prefix_caching": caching})
        decisions.append(replay(Case(config, requests, (0,), 5000, ()), Release(version)).steps)
    assert decisions[0] == decisions[1]


def _without_prefix(request: Request) -> Request:
    return Request(
        request.number, request.arrival, request.prompt_tokens, request.max_tokens, request.priority
    )
