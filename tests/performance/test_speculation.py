"""Speculative decoding: what a step costs and yields, by hand and against published runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scheduler_reader.performance import estimate_performance, kernels
from scheduler_reader.performance.break_even import first_below
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.drafts import drafted as passes_of
from scheduler_reader.performance.speculation import tokens_of_a_step
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo, Workload

GPT_OSS = "openai/gpt-oss-120b --max-model-len 8192"
EAGLE3_OF_GPT_OSS = (
    """ --speculative-config '{"method": "eagle3", "model": "x/y", "num_speculative_tokens": 3}'"""
)
LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096"


def drafted(method: str, tokens: int, **keys) -> str:
    config = {"method": method, "num_speculative_tokens": tokens} | keys
    if method.startswith("eagle"):
        config["model"] = f"someone/{method}-of-llama"
    return f"{LLAMA_8B} --speculative-config '{json.dumps(config)}'"


@pytest.fixture(scope="module")
def step(served):
    def build(arguments: str, version: str = "0.18.0"):
        found = build_step_model(served(arguments, version=version)[0])
        assert isinstance(found, Known), found
        return found.value

    return build


def load(concurrency: int = 8, **more) -> Workload:
    return Workload(
        concurrency=concurrency,
        num_requests=10 * concurrency,
        input_tokens=Lengths(constant=1000),
        output_tokens=Lengths(constant=250),
        **more,
    )


@pytest.mark.parametrize(("rate", "drafts", "tokens"), [(0.5, 3, 1.875), (1, 4, 5), (0, 4, 1)])
def test_a_step_yields_the_drafts_that_pass_and_one_token(rate, drafts, tokens):
    assert tokens_of_a_step(rate, drafts) == tokens  # 1 + 1/2 + 1/4 + 1/8


def test_the_published_spread_is_taken_where_nobody_states_the_acceptance(step):
    spec = step(drafted("eagle3", 3)).speculation
    # 1 + 0.75 + 0.75^2 + 0.75^3
    assert spec.acceptance.best == pytest.approx(2.734, abs=1e-3)
    assert spec.acceptance.low < spec.acceptance.best < spec.acceptance.high < 4


def test_lookup_drafts_in_a_share_of_the_steps_only(step):
    spec = step(drafted("ngram", 5)).speculation
    assert spec.draft is None
    assert spec.proposed == pytest.approx(0.55 * 5)
    # 1 + 0.55 x (0.5 + 0.25 + 0.125 + 0.0625 + 0.03125)
    assert spec.acceptance.best == pytest.approx(1 + 0.55 * 0.96875)


def test_a_synthetic_acceptance_is_what_passes(step):
    arguments = drafted(
        "ngram", 5, rejection_sample_method="synthetic", synthetic_acceptance_length=2.5
    )
    acceptance = step(arguments, "0.24.0").speculation.acceptance
    assert (acceptance.low, acceptance.best, acceptance.high) == (2.5, 2.5, 2.5)


def test_a_stated_acceptance_is_at_most_the_drafts_and_one(step):
    model = step(drafted("eagle3", 3))
    assert model.accepting(2.2).acceptance == 2.2
    assert model.accepting(9.0).acceptance == 4.0
    assert model.accepting(None).acceptance == model.acceptance


def test_each_further_draft_costs_a_pass_of_the_layer(step):
    three, four = (step(drafted("eagle", k)) for k in (3, 4))
    # The layer's weights (218 M), the joining product (2 x 4096 x 4096) and the output projection
    # (128,256 x 4,096) are read in bfloat16: 1.56 GB, and 0.43 ms pass on the host.
    pass_s = sum(three.speculation.draft.step_parts(1, 400)) + three.speculation.draft_s.best
    assert pass_s == pytest.approx(1.56e9 / (3.35e12 * 0.875) + 430e-6, rel=0.1)
    assert four.step_seconds(1, 400) - three.step_seconds(1, 400) == pytest.approx(pass_s, rel=0.01)


@pytest.mark.parametrize(
    ("method", "acceptance", "tpot_ms"),
    [
        ("eagle", {2: 2.1, 4: 2.39, 7: 2.47}, {2: 4.37, 4: 4.48, 7: 5.2}),
        ("eagle3", {2: 2.36, 4: 3.08, 7: 3.54}, {2: 4.32, 4: 4.05, 7: 4.29}),
    ],
)
def test_published_drafts_of_one_stream(step, method, acceptance, tpot_ms):
    # vllm issue 20780: Llama 3.1 8B on H100, MT-bench, one request at a time.
    for tokens, accepted in acceptance.items():
        model = step(drafted(method, tokens), "0.9.2")
        assert model.acceptance == pytest.approx(accepted, rel=0.06)
        measured_s = tpot_ms[tokens] * accepted / 1e3
        assert model.step_seconds(1, 400) == pytest.approx(measured_s, rel=0.17)


def test_drafts_share_experts_with_the_token_they_follow(step):
    model = step(GPT_OSS + EAGLE3_OF_GPT_OSS)
    alone, spec = replace(model, speculation=None), model.speculation
    assert (spec.proposed, spec.routing.best) == (3, 0.57)
    # 32 rows of 8 sequences run through all products; the experts they read are those of 8 + 24 x 0.57.
    as_many = kernels.mixture(model.experts, 32).seconds
    fewer = kernels.mixture(model.experts, 32, 8 * (1 + 3 * 0.57)).seconds
    checks = sum(model.step_parts(8, 800)[:3]) - sum(passes_of(spec, 8, 800, [], 1)[:3])
    chosen_alone = sum(alone.step_parts(32, 800)[:3])
    queries = sum(24 * cost.decode_sequence_s for cost in model.attention)  # not sequences: drafts
    assert chosen_alone - checks == pytest.approx(as_many - fewer + queries, rel=1e-6)
    assert as_many > 1.1 * fewer


def test_the_acceptance_of_a_target_is_taken_before_that_of_the_method(step):
    spec = step(GPT_OSS + EAGLE3_OF_GPT_OSS).speculation
    # 1 + 0.62 + 0.62^2 + 0.62^3; published at k = 3: 2.05 and 2.41
    assert spec.acceptance.best == pytest.approx(2.243, abs=1e-3)
    assert spec.acceptance.low == pytest.approx(1.96, abs=0.01)


@pytest.mark.parametrize(
    ("running", "acceptance", "without", "with_drafts"),
    [(1, 2.41, 212, 285), (8, 2.41, 795, 1044), (64, 2.43, 1620, 2339)],
)
def test_published_drafts_of_a_mixture(step, running, acceptance, without, with_drafts):
    # Dogacel/specdrift-gpt-oss-120b-eagle3, tokens/s on one H100, MT-bench, k = 3 (SGLang).
    model = step(GPT_OSS + EAGLE3_OF_GPT_OSS).accepting(acceptance)
    plain_s = replace(model, speculation=None).step_seconds(running, running * 800)
    slow, best, fast = (
        acceptance * plain_s / one.step_seconds(running, running * 800)
        for one in (model.drafting_end("slow"), model, model.drafting_end("fast"))
    )
    assert slow < with_drafts / without < fast
    assert best == pytest.approx(with_drafts / without, rel=0.09)


def test_the_range_of_the_speed_up_holds_what_is_known_of_drafts(served):
    workload = load(8)
    published = effect_of(served, f"{GPT_OSS} -tp 2{EAGLE3_OF_GPT_OSS}", workload).speculation
    stated = effect_of(
        served, f"{GPT_OSS} -tp 2{EAGLE3_OF_GPT_OSS}", replace(workload, acceptance_length=1.8)
    ).speculation
    for effect in (published, stated):
        low, high = effect.speedup_range
        assert low < effect.speedup < high
    # A stated acceptance leaves the experts and the cost of a draft uncertain: the ends still differ
    # on both sides of 1, and nothing may be asserted.
    assert stated.speedup_range[0] < 1 < stated.speedup_range[1] < published.speedup_range[1]


@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("method", ["eagle3", "ngram"])
def test_the_run_and_the_closed_form_agree(served, method, concurrency):
    engine, plan = served(drafted(method, 3), load(concurrency))
    run, instant = (
        way(engine, plan, load(concurrency), Slo()).value
        for way in (simulated_estimate, estimate_performance)
    )
    assert run.tpot_ms == pytest.approx(instant.tpot_ms, rel=0.12)
    assert run.itl_ms.mean == pytest.approx(instant.itl_ms.mean, rel=0.12)
    assert run.output_tokens_per_s == pytest.approx(instant.output_tokens_per_s, rel=0.05)
    assert run.total_tokens_per_s / run.output_tokens_per_s == pytest.approx(5, rel=0.02)


def test_steps_are_longer_and_tokens_come_faster(served):
    with_drafts, without = (
        estimate_performance(*served(arguments, load()), load(), Slo()).value
        for arguments in (drafted("eagle3", 3), LLAMA_8B)
    )
    assert with_drafts.itl_ms.mean > without.itl_ms.mean
    assert with_drafts.tpot_ms == pytest.approx(with_drafts.itl_ms.mean / 2.734, rel=0.001)
    assert with_drafts.tpot_ms < without.tpot_ms
    assert with_drafts.low.output_tokens_per_s < with_drafts.output_tokens_per_s


def effect_of(served, arguments: str, workload: Workload):
    found = estimate_performance(*served(arguments, workload), workload, Slo())
    return found.value


def test_the_crossover_is_the_smallest_load_that_drafts_slow_down():
    # Exactly at 40: below, a step with drafts is worth it; from there on it is not.
    assert first_below(lambda running: 40.5 / (running + 1), 1000) == pytest.approx(40, rel=0.07)
    assert first_below(lambda running: 1.2, 1000) is None
    assert first_below(lambda running: 0.9, 1000) == 1


def test_a_dip_that_more_requests_climb_out_of_is_not_the_crossover():
    def dips(running: float) -> float:  # below 1 from 8 to 32 and from 300 on
        return 0.9 if 8 <= running <= 32 or running >= 300 else 1.1

    assert first_below(dips, 1000) == pytest.approx(300, rel=0.07)
    assert first_below(dips, 100) is None


def test_drafts_that_seldom_pass_slow_a_full_engine_down_and_say_from_where(served):
    few, many = (
        effect_of(served, drafted("eagle", 5), load(count, acceptance_length=2.1))
        for count in (2, 256)
    )
    assert few.speculation.speedup > 1 > many.speculation.speedup
    assert 2 < many.speculation.break_even_concurrency < 256
    assert few.speculation.is_stated
    (sentence,) = many.assumptions
    assert sentence.startswith(
        f"speculative decoding: 2.10 tokens a step, as stated; {many.speculation.speedup:.2f} times as "
        "fast here ("
    )
    count = many.speculation.break_even_concurrency
    assert sentence.endswith(f"; slower than without from {count:,} running requests on")


def test_a_method_that_is_not_known_is_left_out_in_words(served):
    config = '{"method": "medusa", "model": "someone/medusa-x", "num_speculative_tokens": 3}'
    found = effect_of(served, f"{LLAMA_8B} --speculative-config '{config}'", load())
    assert found.speculation is None
    assert (
        "speculative decoding: what the drafts of method medusa cost and yield is not known; the "
        "figures are without it" in found.not_modeled
    )
