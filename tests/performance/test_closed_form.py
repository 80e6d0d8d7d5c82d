"""The closed form against Little's law, published runs and what must hold for any load."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loads import closed, offered

from scheduler_reader.performance import estimate_performance
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Lengths, Slo, Workload

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B_FP8 = "nvidia/Llama-3.3-70B-Instruct-FP8"


@pytest.fixture(scope="module")
def estimate(served):
    def run(arguments: str, workload: Workload, slo: Slo | None = None, **target):
        engine, plan = served(arguments, workload, **target)
        found = estimate_performance(engine, plan, workload, slo or Slo())
        assert isinstance(found, Known), found
        return found.value

    return run


def test_one_stream_gets_a_token_a_decode_step(estimate):
    one = estimate(LLAMA_8B, closed(1, 128, 512))
    assert one.itl_ms.mean == pytest.approx(one.itl_ms.p99)
    assert one.output_tokens_per_s == pytest.approx(1e3 / one.tpot_ms, rel=0.03)
    assert one.floor.itl_ms < one.tpot_ms
    assert one.shares.memory > 0.9


def test_a_closed_loop_keeps_littles_law(estimate):
    found = estimate(LLAMA_8B, closed(64, 1000, 250, start="steady"))
    seconds = (found.ttft_ms.mean + 249 * found.tpot_ms) / 1e3
    assert found.requests_per_s * seconds == pytest.approx(64, rel=0.02)
    assert found.running == pytest.approx(64, rel=0.01)
    assert found.waiting == 0


def test_the_burst_start_raises_the_mean_ttft_and_its_tail(estimate):
    spread = {"output_tokens": Lengths(uniform=(200, 300))}  # soon out of step
    steady = estimate(LLAMA_8B, closed(64, 1000, 250, start="steady").replaced(spread))
    burst = estimate(LLAMA_8B, closed(64, 1000, 250).replaced(spread))
    # A tenth of the requests waits for up to 64 prompts of 1,000 tokens, about 1.1 s.
    added = burst.ttft_ms.mean - steady.ttft_ms.mean
    assert 20 < added < 100
    assert burst.ttft_ms.p99 > 5 * steady.ttft_ms.p50
    assert burst.output_tokens_per_s == pytest.approx(steady.output_tokens_per_s)


@pytest.mark.parametrize(
    ("concurrency", "prompt", "output", "tpot_ms", "ttft_ms"),
    [(4, 1024, 1024, 17.4, 121), (64, 1024, 1024, 28.8, 415), (8, 8192, 1024, 25.0, 963)],
)
def test_published_runs_of_70b_on_two_h100(estimate, concurrency, prompt, output, tpot_ms, ttft_ms):
    # InferenceX, vLLM 0.10.2, lengths uniform in 0.8 to 1.0 of 1,024 and 8,192.
    lengths = {
        "input_tokens": Lengths(uniform=(int(0.8 * prompt), prompt)),
        "output_tokens": Lengths(uniform=(int(0.8 * output), output)),
    }
    found = estimate(
        LLAMA_70B_FP8 + " -tp 2 --max-model-len 10240 --max-num-seqs 64",
        closed(concurrency, prompt, output).replaced(lengths),
        version="0.10.2",
    )
    assert found.tpot_ms == pytest.approx(tpot_ms, rel=0.08)
    assert found.ttft_ms.mean == pytest.approx(ttft_ms, rel=0.25)


def test_seats_make_the_rest_wait(estimate):
    few = estimate(LLAMA_8B + " --max-num-seqs 8", closed(128, 512, 256))
    assert few.running == pytest.approx(8)
    assert few.waiting == pytest.approx(120, abs=0.1)  # less those on their way to the engine
    assert few.ttft_ms.mean > 5_000


def test_itl_p99_is_a_step_with_prefill_when_more_than_one_in_a_hundred_is(estimate):
    often = estimate(LLAMA_8B, closed(32, 4000, 200))
    assert often.itl_ms.p99 > 5 * often.itl_ms.p50
    seldom = estimate(
        LLAMA_8B,
        closed(4, 1000, 4000).replaced({"output_tokens": Lengths(uniform=(3000, 5000))}),
    )
    assert seldom.itl_ms.p99 == pytest.approx(seldom.itl_ms.p50)


def test_above_its_capacity_an_open_loop_is_saturated_and_has_no_tail(estimate):
    found = estimate(LLAMA_8B, offered(500, 1000, 200))
    assert found.saturated
    assert found.ttft_ms.p99 is None and found.itl_ms.p99 is None
    assert 10 < found.capacity_requests_per_s < 60
    assert found.requests_per_s == pytest.approx(found.capacity_requests_per_s)
    assert found.queue_growth_per_s == pytest.approx(500 - found.capacity_requests_per_s)


def test_a_light_open_loop_is_served_as_offered(estimate):
    found = estimate(LLAMA_8B, offered(2, 1000, 200))
    assert not found.saturated
    assert found.requests_per_s == 2
    # Little's law: 2 requests a second, each about 200 tokens of 8 ms.
    assert found.running == pytest.approx(2 * 200 * found.tpot_ms / 1e3, rel=0.1)


def test_goodput_counts_requests_within_every_objective(estimate):
    load = offered(2, 6000, 300)
    free = estimate(LLAMA_8B, load, Slo(ttft_ms=2000))
    assert free.goodput_requests_per_s == pytest.approx(2, rel=0.02)
    # A 6,000-token prompt takes one step of about 125 ms: far above 60 ms, several times a request.
    large = estimate(LLAMA_8B, load, Slo(ttft_ms=2000, itl_ms=60))
    small = estimate(
        LLAMA_8B + " --max-num-batched-tokens 512 --max-num-seqs 256",
        load,
        Slo(ttft_ms=2000, itl_ms=60),
    )
    assert large.goodput_requests_per_s < 0.5
    assert small.goodput_requests_per_s > 1.8


def test_prefix_cache_hits_shorten_prefill_only_where_caching_is_on(estimate):
    load = closed(32, 4000, 200)
    cached = replace(load, prefix_cache_hit_rate=0.8)
    cold, warm = estimate(LLAMA_8B, load), estimate(LLAMA_8B, cached)
    off = estimate(LLAMA_8B + " --no-enable-prefix-caching", cached)
    assert warm.output_tokens_per_s > 1.5 * cold.output_tokens_per_s
    assert off.output_tokens_per_s == pytest.approx(cold.output_tokens_per_s)


def test_low_and_high_enclose_the_best_estimate(estimate):
    found = estimate(LLAMA_8B, closed(64, 1000, 250))
    assert (
        found.low.output_tokens_per_s < found.output_tokens_per_s < found.high.output_tokens_per_s
    )
    assert found.low.tpot_ms > found.tpot_ms > found.high.tpot_ms


@pytest.mark.parametrize(
    ("load", "arguments"),
    [
        (closed(5, 96, 3, num_requests=5), "--max-num-batched-tokens 128 --max-num-seqs 128"),
        (closed(8, 100, 2, num_requests=8), "--max-num-batched-tokens 128 --max-num-seqs 64"),
        (closed(128, 96, 3), "--max-num-batched-tokens 128 --max-num-seqs 128"),
    ],
)
def test_slower_steps_that_serve_a_small_load_sooner_do_not_turn_the_range_round(
    estimate, load, arguments
):
    found = estimate(f"Qwen/Qwen3-0.6B {arguments}", load, version="0.11.0")
    slow, fast = found.low, found.high
    assert slow.ttft_ms.mean >= found.ttft_ms.mean >= fast.ttft_ms.mean
    assert slow.tpot_ms >= found.tpot_ms >= fast.tpot_ms
    assert slow.output_tokens_per_s <= found.output_tokens_per_s <= fast.output_tokens_per_s


def test_two_clients_that_want_a_word_each_are_hardly_ever_there_together(estimate):
    drafts = "--speculative-config.method ngram --speculative-config.num_speculative_tokens 8"
    lengths = {"input_tokens": Lengths(uniform=(2, 5)), "output_tokens": Lengths(uniform=(1, 2))}
    found = estimate(f"{LLAMA_8B} {drafts}", closed(2, 4, 1).replaced(lengths))
    assert 0 < found.ttft_ms.p50 <= found.ttft_ms.p99


def test_more_concurrency_never_lowers_throughput_nor_latency(estimate):
    runs = [estimate(LLAMA_8B, closed(n, 1000, 250)) for n in (1, 4, 16, 64, 256)]
    rates, itls = [r.output_tokens_per_s for r in runs], [r.itl_ms.mean for r in runs]
    assert rates == sorted(rates)
    assert itls == sorted(itls)


def test_more_blocks_never_lower_throughput(served):
    load = closed(256, 4000, 500)
    engine, plan = served(LLAMA_8B, load)
    rates = []
    for blocks in (2_000, 8_000, 32_000, 128_000):
        found = estimate_performance(engine, plan._replace(num_blocks=blocks), load, Slo())
        assert isinstance(found, Known)
        rates.append(found.value.output_tokens_per_s)
    assert rates == sorted(rates)


def test_replicas_share_the_load(estimate):
    one = estimate(LLAMA_8B, closed(32, 1000, 250))
    two = estimate(LLAMA_8B + " -dp 2", closed(64, 1000, 250), gpu_count=2)
    assert two.output_tokens_per_s == pytest.approx(2 * one.output_tokens_per_s, rel=0.01)
    assert two.tpot_ms == pytest.approx(one.tpot_ms, rel=0.01)


def test_an_engine_that_does_not_start_has_no_performance(served):
    engine, plan = served(LLAMA_70B_FP8)
    found = estimate_performance(engine, plan, closed(8, 100, 100), Slo())
    assert isinstance(found, Unknown)
    assert "does not start" in found.reason
