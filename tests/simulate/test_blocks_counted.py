"""What is counted of KV blocks before a decision is what the decision takes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_invariants import RELEASES, cases

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.case import Case
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.kv_manager import NO_HIT, Hit, KVManager
from scheduler_reader.simulate.request import Request
from scheduler_reader.simulate.steps import replay

NEWEST = Release("0.33.0")


@settings(max_examples=60, deadline=None)
@given(cases(watermark=0.1), st.sampled_from(RELEASES))
def test_an_allocation_takes_the_blocks_that_it_was_found_to_need(case: Case, version: str) -> None:
    allocate, count = KVManager._allocate, KVManager._needed
    counted: list[tuple[int, int]] = []

    def needed(kv: KVManager, *what: Any, **how: Any) -> int:
        blocks = count(kv, *what, **how)
        counted.append((blocks, kv.free))
        return blocks

    def watched(kv: KVManager, request: Request, tokens: int, hit: Hit, headroom: int) -> bool:
        done = allocate(kv, request, tokens, hit, headroom)
        blocks, free = counted[-1]
        assert done == (blocks + headroom <= free)
        assert kv.free == free - blocks * done
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KVManager, "_needed", needed)
        patch.setattr(KVManager, "_allocate", watched)
        replay(case, Release(version))
    assert counted


@settings(max_examples=60, deadline=None)
@given(cases(sliding_window=None, watermark=0.1), st.sampled_from(RELEASES))
def test_what_fits_is_what_is_admitted(case: Case, version: str) -> None:
    admit, answers = KVManager.admit, []

    def watched(kv: KVManager, *what: Any) -> bool:
        promised = kv.fits(*what)
        answers.append(admit(kv, *what))
        assert promised == answers[-1]
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KVManager, "admit", watched)
        replay(case, Release(version))
    assert answers


@settings(max_examples=150, deadline=None)
@given(
    st.booleans().flatmap(
        lambda is_chunked: cases(
            sliding_window=None,
            watermark=0.1,
            num_gpu_blocks=20,
            enable_chunked_prefill=is_chunked,
            **({} if is_chunked else {"max_num_batched_tokens": 300}),
        )
    ),
    st.sampled_from(RELEASES),
)
def test_who_stays_blocked_is_not_admitted(case: Case, version: str) -> None:
    """And who is not admitted stays blocked, where nothing is found in the cache."""
    admit = Admission.admit

    def watched(waiting: Admission, batch: Batch, *limits: Any) -> None:
        queue, before = waiting._next_queue(), len(waiting._running)
        asks = queue is not None and 0 < before < case.config.active_limit and batch.budget > 0
        is_blocked = asks and waiting.stays_blocked(batch.budget)
        is_plain = asks and queue is not None and not queue.peek().stale
        is_plain = is_plain and waiting._kv.lookup(queue.peek()) == NO_HIT
        is_short = asks and queue is not None and queue.peek().known <= batch.budget
        admit(waiting, batch, *limits)
        is_joined = len(waiting._running) > before
        assert not (is_blocked and is_joined)
        if is_plain and (case.config.enable_chunked_prefill or is_short):
            assert is_blocked != is_joined

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Admission, "admit", watched)
        replay(case, Release(version))


def test_steps_with_room_are_all_that_the_free_blocks_last() -> None:
    """Against trying one number of steps after the other."""
    for seed in range(100):
        pick = Random(seed)
        size, free = pick.choice([1, 4, 16]), pick.randint(0, 30)
        config = EngineConfig(
            max_num_seqs=8,
            max_num_batched_tokens=64,
            max_model_len=1000,
            num_gpu_blocks=free + 1,
            block_size=size,
        )
        kv = KVManager(config, behaviour_of(NEWEST), Overlap(1))
        requests = [Request(number, 0, 50, 500) for number in range(pick.randint(1, 6))]
        for request in requests:
            request.computed = pick.randint(1, 200)
            request.held = -(-request.computed // size) + pick.choice([0, 0, 1, 2])
        most = pick.randint(1, 200)

        def blocks(steps: int) -> int:
            return sum(
                max(-(-(each.computed + steps) // size) - each.held, 0)  # noqa: B023
                for each in requests  # noqa: B023
            )

        found = kv.steps_with_room(requests, most)
        assert found == max(steps for steps in range(most + 1) if blocks(steps) <= free), seed
        taken = blocks(found)
        kv.extend_all(requests, found)
        assert kv.free == free - taken, seed
