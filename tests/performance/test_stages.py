"""The closed form of engines with pipeline stages against their runs."""

from __future__ import annotations

from statistics import median

import pytest
from loads import closed, offered

from scheduler_reader.performance import estimate_performance
from scheduler_reader.simulate.estimate import is_simulated, simulated_estimate
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo

IN_TURNS = "--no-async-scheduling"
# Stages, ranks of a stage, token budgets; the releases before 0.15.0 do without the switch.
ENGINES = (
    (f"Qwen/Qwen3-32B -tp 2 -pp 2 {IN_TURNS}", "0.18.0"),
    ("Qwen/Qwen3-8B -pp 4", "0.12.0"),
    (f"Qwen/Qwen3-8B -pp 2 --max-num-batched-tokens 4096 {IN_TURNS}", "0.30.0"),
    ("meta-llama/Llama-3.3-70B-Instruct -tp 4 -pp 4", "0.14.0"),
)
# clients, prompt, output: prompts of one batch, of some, of many; prompts longer than half a batch
LOADS = ((6, 900, 200), (24, 2000, 300), (48, 1500, 200), (32, 6000, 150))


def run_and_form(served, arguments, load, version="0.18.0"):
    engine, plan = served(arguments, load, version=version)
    run = simulated_estimate(engine, plan, load, Slo())
    form = estimate_performance(engine, plan, load, Slo())
    assert isinstance(form, Known) and is_simulated(run)
    return run.value, form.value


def differing(load, prompt, output):
    """The load with lengths around those, so that its requests are soon out of step."""
    spread = {
        "input_tokens": Lengths(uniform=(int(0.7 * prompt), int(1.3 * prompt))),
        "output_tokens": Lengths(uniform=(int(0.5 * output), int(1.5 * output))),
    }
    return load.replaced(spread)


def off(figure, pairs):
    """How far the closed form's figure is from the runs', the farthest last."""
    return sorted(abs(figure(form) / figure(run) - 1) for run, form in pairs)


def ttft(estimate):
    return estimate.ttft_ms.mean


def tpot(estimate):
    return estimate.tpot_ms


def speed(estimate):
    return estimate.output_tokens_per_s


def test_equal_outputs_agree_with_their_runs(served):
    pairs = [
        run_and_form(served, arguments, closed(*load), version)
        for arguments, version in ENGINES
        for load in LOADS
    ]
    assert off(tpot, pairs)[-1] < 0.1
    assert off(speed, pairs)[-2] < 0.1 and off(speed, pairs)[-1] < 0.15
    assert median(off(ttft, pairs)) < 0.2 and off(ttft, pairs)[-1] < 0.35


def test_outputs_that_differ_agree_with_their_runs(served):
    pairs = [
        run_and_form(served, arguments, differing(closed(*load), *load[1:]), version)
        for arguments, version in ENGINES
        for load in LOADS
    ]
    assert median(off(tpot, pairs)) < 0.05 and off(tpot, pairs)[-1] < 0.15
    assert median(off(speed, pairs)) < 0.1 and off(speed, pairs)[-1] < 0.2
    assert off(ttft, pairs)[-1] < 0.25


@pytest.mark.parametrize(
    ("arguments", "rate", "prompt", "output"),
    [
        ("Qwen/Qwen3-32B -tp 2 -pp 2", 5.5, 1500, 200),
        ("Qwen/Qwen3-8B -pp 4", 9.0, 1500, 200),
        ("Qwen/Qwen3-32B -tp 2 -pp 2", 8.0, 700, 400),
        ("meta-llama/Llama-3.3-70B-Instruct -tp 4 -pp 4", 3.0, 4000, 150),
    ],
)
def test_an_open_loop_fills_few_of_the_stages(served, arguments, rate, prompt, output):
    load = offered(rate, prompt, output)
    run, form = run_and_form(served, f"{arguments} {IN_TURNS}", load)
    assert form.tpot_ms == pytest.approx(run.tpot_ms, rel=0.15)
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.35)


def formed(served, stages, load):
    engine, plan = served(f"Qwen/Qwen3-8B -pp {stages} {IN_TURNS}", load)
    found = estimate_performance(engine, plan, load, Slo())
    assert isinstance(found, Known)
    return found.value


def test_prompts_that_fit_into_one_batch_leave_the_other_stages_idle(served):
    forms = [formed(served, stages, closed(6, 900, 200)) for stages in (1, 2, 4)]
    for figure in (tpot, ttft):
        assert [figure(one) for one in forms] == pytest.approx([figure(forms[0])] * 3, rel=0.01)


def test_more_stages_serve_more_where_prompts_fill_them(served):
    forms = [formed(served, stages, closed(128, 2000, 300)) for stages in (1, 2, 4)]
    assert all(tpot(form) > form.floor.itl_ms for form in forms)
    rates = [speed(form) for form in forms]
    assert 1.4 * rates[0] < rates[1] and 1.4 * rates[1] < rates[2]


@pytest.mark.parametrize("version", ["0.15.0", "0.18.0", "0.30.0"])
@pytest.mark.parametrize("load", LOADS)
def test_asynchronous_scheduling_agrees_with_its_runs(served, version, load):
    """Requests take turns without and (0.23.0 on) with the V2 runner; between, all are in every batch."""
    for stages in (2, 4):
        varied = differing(closed(*load), *load[1:])
        run, form = run_and_form(served, f"Qwen/Qwen3-8B -pp {stages}", varied, version)
        assert form.tpot_ms == pytest.approx(run.tpot_ms, rel=0.15)
        assert speed(form) == pytest.approx(speed(run), rel=0.15)
        assert ttft(form) == pytest.approx(ttft(run), rel=0.35)


def test_no_stream_of_a_pipeline_is_faster_than_its_floor(served):
    """A pass begins when the tokens exist that it decodes from, also where it is decided before."""
    for version in ("0.15.0", "0.18.0", "0.30.0"):
        run, _ = run_and_form(served, "Qwen/Qwen3-8B -pp 2", closed(4, 900, 230), version)
        assert run.itl_ms.p50 > run.floor.itl_ms


def test_a_client_alone_on_stages_is_estimated(served):
    """Nobody comes meanwhile, however long prompts take."""
    load = closed(1, 3000, 40).replaced({"input_tokens": Lengths(uniform=(2000, 4000))})
    for version in ("0.15.0", "0.18.0", "0.33.0"):
        run, form = run_and_form(
            served, "Qwen/Qwen3-8B -pp 2 --max-num-batched-tokens 2048", load, version
        )
        assert tpot(form) == pytest.approx(tpot(run), rel=0.05)
