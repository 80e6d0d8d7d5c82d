"""Requests that a release refuses: their prompts leave no room in max_model_len."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler_reader.performance import estimate_performance
from scheduler_reader.performance.served import share_within
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Lengths, Slo, Workload

SHORT = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 2048"
LOAD = Workload(
    concurrency=8,
    num_requests=40,
    input_tokens=Lengths(constant=1000),
    output_tokens=Lengths(constant=200),
)


@pytest.mark.parametrize("predict", [estimate_performance, simulated_estimate])
@pytest.mark.parametrize("prompt", [Lengths(constant=2048), Lengths(uniform=(3000, 9000))])
def test_nothing_is_predicted_where_all_requests_are_refused(served, predict, prompt):
    workload = replace(LOAD, input_tokens=prompt)
    found = predict(*served(SHORT, workload), workload, Slo())
    assert isinstance(found, Unknown)
    assert found.reason == (
        f"no request is served: a prompt of {prompt.summary} tokens leaves no room for an answer "
        "in max_model_len (2,048), vLLM refuses it with an error"
    )


@pytest.mark.parametrize("predict", [estimate_performance, simulated_estimate])
def test_the_share_that_is_refused_is_said(served, predict):
    workload = replace(LOAD, input_tokens=Lengths(uniform=(1048, 3047)))
    found = predict(*served(SHORT, workload), workload, Slo())
    assert isinstance(found, Known)
    assert found.value.assumptions == (
        "about 50% of the requests are refused, their prompts leave no room in max_model_len "
        "(2,048): a run leaves them out, the closed form takes them as served",
    )


def test_requests_that_fit_are_all_served(served):
    found = estimate_performance(*served(SHORT, LOAD), LOAD, Slo())
    assert isinstance(found, Known)
    assert found.value.assumptions == ()


def test_an_output_ends_where_the_length_does(served):
    """1,900 tokens of prompt leave 148, in a run as in the closed form."""
    workload = replace(
        LOAD, input_tokens=Lengths(constant=1900), output_tokens=Lengths(constant=1000)
    )
    engine, plan = served(SHORT, workload)
    for predict in (estimate_performance, simulated_estimate):
        found = predict(engine, plan, workload, Slo())
        assert isinstance(found, Known)
        per_request = found.value.output_tokens_per_s / found.value.requests_per_s
        assert per_request == pytest.approx(148)


@pytest.mark.parametrize(
    ("lengths", "tokens", "share"),
    [
        (Lengths(constant=100), 100, 1.0),
        (Lengths(constant=101), 100, 0.0),
        (Lengths(uniform=(1, 100)), 25, 0.25),
        (Lengths(normal={"mean": 1000, "std": 100}), 1000, 0.5),
        (Lengths(normal={"mean": 1000, "std": 100}), 1100, 0.841),
        (Lengths(lognormal={"mean": 1000, "std": 0}), 1000, 1.0),
        (Lengths(lognormal={"mean": 1000, "std": 1000}), 707, 0.5),
        (Lengths(lognormal={"mean": 1000, "std": 1000}), 0, 0.0),
    ],
)
def test_shares_of_laws(lengths, tokens, share):
    assert share_within(lengths, tokens) == pytest.approx(share, abs=0.001)
