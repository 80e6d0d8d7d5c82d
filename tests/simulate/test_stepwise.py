"""A run with a clock, on an engine whose steps take round times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.result import Gaps, Phase, SimulationResult
from scheduler_reader.simulate.stepwise import run_stepwise

CONFIG = EngineConfig(
    max_num_seqs=4,
    max_num_batched_tokens=64,
    max_model_len=256,
    num_gpu_blocks=101,
    enable_prefix_caching=False,
)
RELEASE = Release("0.18.0")


@dataclass(frozen=True)
class OneSecondADecode:
    """A step takes 1 s, and another second for each 32 prompt tokens."""

    is_eager = False
    attention = ()

    def step_seconds(
        self, decode_seqs: float, decode_context_tokens: float, prefill_chunks: list = ()
    ) -> float:
        return 1.0 + sum(tokens for tokens, _ in prefill_chunks) / 32


STEP = cast(StepModel, OneSecondADecode())


def run(*arrivals: Arrival, config: EngineConfig = CONFIG, **recorded: bool) -> SimulationResult:
    return run_stepwise(config, RELEASE, STEP, OpenLoop(arrivals), **recorded)


def test_one_request_alone():
    result = run(Arrival(0, 0.5, 96, 3), record_phases=True, record_samples=True)
    (record,) = result.records
    # 64 + 32 prompt tokens in two steps of 3 and 2 s, then two decodes of 1 s
    assert (record.admitted_s, record.first_token_s, record.finished_s) == (0.5, 5.5, 7.5)
    assert record.gaps == (Gaps(1.0, 2),)
    assert (result.steps, result.busy_s, result.duration_s) == (4, 7.0, 7.5)
    assert result.phases == (
        Phase(0, "prefill", 0.5, 3.5, 64),
        Phase(0, "prefill", 3.5, 5.5, 32),
        Phase(0, "decode", 5.5, 7.5, 2),
    )
    assert [sample.used_blocks for sample in result.samples] == [4, 6, 7]


def test_a_second_request_joins_the_decode_of_the_first():
    result = run(Arrival(0, 0, 32, 5), Arrival(1, 2.5, 32, 2))
    first, second = result.records
    # steps end at 2, 3, 5 (with the second prompt), 6, 7
    assert first.gaps == (Gaps(1.0, 1), Gaps(2.0, 1), Gaps(1.0, 2))
    assert (second.admitted_s, second.first_token_s, second.finished_s) == (3, 5, 6)


def test_a_closed_loop_starts_the_next_when_one_ends():
    clients = ClosedLoop([Arrival(n, None, 32, 1) for n in range(3)], concurrency=1)
    result = run_stepwise(CONFIG, RELEASE, STEP, clients)
    assert [record.finished_s for record in result.records] == [2, 4, 6]


def test_preemption_is_counted_and_shown():
    config = replace(CONFIG, num_gpu_blocks=6)  # five usable: two prompts of two blocks, and one
    result = run(Arrival(0, 0, 32, 20), Arrival(1, 0, 32, 20), config=config, record_phases=True)
    assert [record.preemptions for record in result.records] == [0, 1]
    assert all(record.output_tokens == 20 for record in result.records)
    kinds = [phase.kind for phase in result.phases if phase.number == 1]
    assert kinds == ["prefill", "preempted", "prefill", "decode"]


def test_what_needs_more_blocks_than_there_are_waits_for_ever():
    config = replace(CONFIG, num_gpu_blocks=4)
    result = run(Arrival(0, 0, 40, 4), Arrival(1, 9, 80, 4), Arrival(2, 10, 8, 4), config=config)
    assert result.unfinished == (1, 2)  # the third waits behind the second
    assert result.records[1].admitted_s is None


def test_an_older_release_computes_it_again_and_again():
    config = replace(CONFIG, num_gpu_blocks=4)
    source = OpenLoop([Arrival(0, 0, 40, 30)])
    result = run_stepwise(config, Release("0.10.2"), STEP, source)
    assert result.unfinished == (0,)
    assert result.preemptions > 0


def test_asynchronous_scheduling_hides_nothing_here_and_loses_no_token():
    config = replace(CONFIG, async_scheduling=True)
    result = run(Arrival(0, 0, 32, 5), Arrival(1, 2.5, 32, 2), config=config)
    assert [record.output_tokens for record in result.records] == [5, 2]
    # the step after the first decode was decided before the second request came
    assert [record.finished_s for record in result.records] == [7, 7]


@pytest.mark.parametrize("stages", [1, 2])
def test_a_pipeline_step_passes_all_stages(stages):
    config = replace(CONFIG, pipeline_parallel_size=stages)
    (record,) = run(Arrival(0, 0, 32, 3), config=config).records
    assert record.gaps == (Gaps(1.0, 2),)
