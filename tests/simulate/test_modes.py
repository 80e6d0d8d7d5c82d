"""The four ways to batch: static windows by hand, and what the comparison says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.step import StepModel
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop
from scheduler_reader.simulate.comparison import sentences
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.modes import Mode, bounds_of, run_mode, unchunked
from scheduler_reader.simulate.result import Gaps, Sample
from scheduler_reader.simulate.setup import Setup, set_up
from scheduler_reader.simulate.windows import run_windows
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Lengths, Slo, Workload


@dataclass(frozen=True)
class OneSecondADecode:
    """A step takes 1 s, and another for each 100 prompt tokens, padding included."""

    def step_seconds(self, decode_seqs: float, decode_context_tokens: float) -> float:
        return 1.0

    def step_parts(
        self,
        decode_seqs: float,
        decode_context_tokens: float,
        prefill_chunks: list[tuple[float, float]],
        copies: float,
    ) -> tuple[float, ...]:
        return (1.0, copies * sum(tokens for tokens, _ in prefill_chunks) / 100)


STEP = cast(StepModel, OneSecondADecode())
CONFIG = EngineConfig(
    max_num_seqs=8, max_num_batched_tokens=512, max_model_len=512, num_gpu_blocks=64
)


def test_a_window_is_padded_to_its_longest_and_stalls_on_its_slowest():
    arrivals = [Arrival(0, 0.0, 100, 3), Arrival(1, 0.0, 50, 5), Arrival(2, 0.5, 10, 2)]
    run = run_windows(CONFIG, STEP, OpenLoop(arrivals), most=8)
    first, second, third = run.result.records
    # two prompts of 100 tokens: 1 s + 2 s; then decodes of 1 s until the longest output is out
    assert (first.first_token_s, first.finished_s, first.gaps) == (3, 5, (Gaps(1, 2),))
    assert (second.first_token_s, second.finished_s) == (3, 7)
    # came just too late: waits for the slowest, then 1 s + 0.1 s and one decode
    assert (third.admitted_s, third.first_token_s, third.finished_s) == (7, 8.1, 9.1)
    assert (run.prefill_s, run.decode_s) == (pytest.approx(4.1), pytest.approx(5))
    assert run.result.steps == 5 + 2
    # window of two: 2 x (100 + 4) positions, of which 102 + 54 are used; the third uses all of 11
    assert (run.computed_tokens, run.useful_tokens) == (208 + 11, 156 + 11)
    # slots: 2 x (100 + 5) and 12
    assert (run.reserved_slots, run.filled_slots) == (210 + 12, 158 + 12)
    assert run.result.samples == (Sample(0, 2, 0, 14), Sample(7, 1, 0, 1))


def test_one_at_a_time_reserves_the_whole_length():
    arrivals = ClosedLoop([Arrival(n, None, 100, 2) for n in range(2)], concurrency=2)
    run = run_windows(CONFIG, STEP, arrivals, most=1, reserves=512)
    assert [record.finished_s for record in run.result.records] == [3, 6]
    assert [record.arrival_s for record in run.result.records] == [0, 0]
    assert (run.reserved_slots, run.filled_slots) == (1024, 204)


def test_memory_limits_a_window_and_what_never_fits_is_named():
    # 63 usable blocks of 16: 1,008 slots; three requests of 310 would fit, four not
    arrivals = [Arrival(n, 0.0, 300, 10) for n in range(4)] + [Arrival(4, 0.0, 1005, 9)]
    run = run_windows(CONFIG, STEP, OpenLoop(arrivals), most=8)
    assert [sample.running for sample in run.result.samples] == [3, 1]
    assert run.result.unfinished == (4,)


def setup_of(served, arguments: str, workload: Workload, version: str = "0.18.0") -> Setup:
    engine, plan = served(arguments, workload, version=version)
    setup = set_up(engine, plan, workload)
    assert isinstance(setup, Known)
    return setup.value


MIXED = Workload(
    concurrency=8,
    num_requests=24,
    input_tokens=Lengths(lognormal={"mean": 1500, "std": 1800}),
    output_tokens=Lengths(uniform=(10, 90)),
)


def test_every_mode_serves_every_request(served):
    setup = setup_of(served, "Qwen/Qwen3-8B --max-model-len 16384", MIXED)
    runs = {mode: run_mode(mode, setup, bounds_of(setup), Slo()) for mode in Mode}
    outputs = {mode: [r.output_tokens for r in run.result.records] for mode, run in runs.items()}
    assert len(set(map(tuple, outputs.values()))) == 1
    assert {run.metrics.finished for run in runs.values()} == {24}
    rates = [run.metrics.output_tokens_per_s for run in runs.values()]
    assert rates[0] < rates[1] < rates[2]
    assert runs[Mode.static].padding_waste > 0.3 > runs[Mode.chunked].padding_waste == 0
    assert runs[Mode.naive].metrics.kv_waste > runs[Mode.static].metrics.kv_waste > 0.03
    assert runs[Mode.chunked].metrics.kv_waste < 0.03
    said = sentences(list(runs.values()))
    assert len(said) == 4 and said[0].startswith("one at a time → static batches: ")
    assert "of the computed tokens were padding" in said[1]


def test_whole_prompts_need_a_budget_and_a_release_that_can(served):
    setup = setup_of(served, "Qwen/Qwen3-8B --max-num-batched-tokens 1024", MIXED, version="0.10.2")
    bounds = bounds_of(setup)
    config, release, notes = unchunked(setup, bounds)
    assert config.max_num_batched_tokens == bounds.request_tokens > 1024
    assert release == Release("0.33.0")
    assert "vLLM 0.10.2 cannot turn chunked prefill off" in notes[0]


def test_a_small_budget_shortens_the_tail_that_whole_prompts_have(served):
    load = MIXED.replaced({"input_tokens": 6000, "output_tokens": 200})
    setup = setup_of(served, "Qwen/Qwen3-8B --max-num-batched-tokens 512", load)
    whole, chunked = (
        run_mode(mode, setup, bounds_of(setup), Slo()).metrics
        for mode in (Mode.continuous, Mode.chunked)
    )
    assert whole.itl_ms and chunked.itl_ms and whole.itl_ms.p99 and chunked.itl_ms.p99
    assert chunked.itl_ms.p99 < 0.5 * whole.itl_ms.p99


def test_data_parallel_replicas_share_the_workload(served):
    load = MIXED.replaced({"num_requests": 32})
    arguments = "Qwen/Qwen3-8B --data-parallel-size 2"
    engine, plan = served(arguments, load, gpu_count=2)
    setup = set_up(engine, plan, load)
    assert isinstance(setup, Known)
    assert (setup.value.replicas, setup.value.workload.concurrency) == (2, 4)
    assert run_mode(Mode.chunked, setup.value, bounds_of(setup.value), Slo()).metrics.finished == 32
    assert "one of 2 equal data-parallel replicas" in setup.value.notes[0]


def test_an_engine_that_does_not_start_is_not_simulated(served):
    engine, plan = served("meta-llama/Llama-3.3-70B-Instruct", DEFAULT_WORKLOAD)
    setup = set_up(engine, plan, DEFAULT_WORKLOAD)
    assert isinstance(setup, Unknown) and "does not start" in setup.reason
