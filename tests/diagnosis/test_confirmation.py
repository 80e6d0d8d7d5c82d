"""The best lift of each default is run, and the verdict follows the runs."""

from __future__ import annotations

from dataclasses import replace

import loads
import pytest

from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.diagnosis.confirmation import Simulator
from scheduler_reader.simulate.estimate import simulated_estimate, simulated_lift
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Slo, Workload

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
SLO = Slo(ttft_ms=3000, itl_ms=50)


def closed(concurrency: int, prompt: int, output: int) -> Workload:
    return loads.closed(concurrency, prompt, output, num_requests=4 * concurrency)


LONG_PROMPTS = loads.offered(1.5, 7000, 250, requests=60)


@pytest.fixture(scope="module")
def both(served):
    """The verdicts in closed form and by runs, the simulated base, and the plans that were run."""

    def judge(arguments: str, workload: Workload, slo: Slo | None = None, run=simulated_lift):
        engine, plan = served(arguments, workload)
        slo = slo or Slo()
        base = simulated_estimate(engine, plan, workload, slo)
        assert isinstance(base, Known)
        plans = []

        def watched(engine, plan, workload, slo):
            plans.append(plan)
            return run(engine, plan, workload, slo)

        simulator = Simulator(base.value, watched)
        screened = find_bottleneck(engine, plan, workload, slo)
        confirmed = find_bottleneck(engine, plan, workload, slo, simulator=simulator)
        assert isinstance(screened, Known)
        assert isinstance(confirmed, Known)
        return screened.value, confirmed.value, base.value, plans

    return judge


@pytest.mark.parametrize(
    ("arguments", "workload", "slo", "kind"),
    [
        (LLAMA_8B + " --max-num-seqs 4", closed(32, 300, 100), None, "admission_stall"),
        (
            LLAMA_8B + " --gpu-memory-utilization 0.26 --max-model-len 8192",
            closed(64, 1500, 60),
            None,
            "kv_starvation",
        ),
        (
            LLAMA_8B + " --max-num-batched-tokens 96 --max-num-seqs 32 --max-model-len 16384",
            closed(8, 6000, 50),
            None,
            "chunk_too_small",
        ),
        (LLAMA_8B + " --max-model-len 16384", LONG_PROMPTS, SLO, "chunk_too_large"),
        (LLAMA_8B, closed(1, 200, 100), None, "decode_floor"),
    ],
)
def test_runs_and_closed_form_name_the_same_limit(both, arguments, workload, slo, kind):
    screened, confirmed, base, _ = both(arguments, workload, slo)
    assert screened.kind == confirmed.kind == kind, confirmed.evidence
    for lift in confirmed.lifted:
        assert lift.before == pytest.approx(getattr(base, lift.metric))


def test_the_evidence_says_which_gains_are_of_runs(both):
    _, confirmed, base, _ = both(LLAMA_8B + " --max-num-seqs 4", closed(32, 300, 100))
    budget = confirmed.lifted[2].limit
    assert confirmed.evidence[-1] == (
        f"gains by simulation: max_num_seqs; in closed form: KV blocks, {budget}"
    )
    assert f"instead of {base.output_tokens_per_s:,.0f} output tokens/s" in confirmed.evidence[1]


def test_a_limit_whose_run_gains_nothing_is_not_named(both):
    """A simulator under which seats are worth nothing: the verdict follows it and is less sure."""

    def unmoved(engine, plan, workload, slo):
        engine = engine.with_values(max_num_seqs=4)
        return simulated_lift(engine, plan, workload, slo)

    screened, confirmed, *_ = both(
        LLAMA_8B + " --max-num-seqs 4", closed(32, 300, 100), run=unmoved
    )
    assert (screened.kind, screened.confidence) == ("admission_stall", "high")
    assert confirmed.default == "none"
    assert confirmed.confidence != "high"
    refuted = [sentence for sentence in confirmed.evidence if "the run decides" in sentence]
    assert len(refuted) == 1
    assert refuted[0].startswith("in closed form max_num_seqs, lifted, gains ")
    assert refuted[0].endswith("in a run 0%: the run decides")


def test_without_runs_the_closed_form_gains_stand_on_the_simulated_base(both):
    def none(engine, plan, workload, slo):
        return Unknown("too long")

    screened, confirmed, base, _ = both(
        LLAMA_8B + " --max-num-seqs 4", closed(32, 300, 100), run=none
    )
    assert confirmed.kind == screened.kind
    assert [lift.gain for lift in confirmed.lifted] == [lift.gain for lift in screened.lifted]
    assert {lift.before for lift in confirmed.lifted} == {base.output_tokens_per_s}
    assert confirmed.evidence[-1].startswith("gains in closed form: KV blocks, max_num_seqs")


def test_lifted_blocks_are_no_more_than_the_load_can_hold(both):
    """A simulator keeps an account of each block: 64 requests of 1,560 tokens need 98 each."""
    arguments = LLAMA_8B + " --gpu-memory-utilization 0.26 --max-model-len 8192"
    *_, plans = both(arguments, closed(64, 1500, 60))
    assert max(plan.num_blocks for plan in plans) == 64 * 98 + 8192 // 16 + 1


def test_blocks_that_are_more_already_stay(served):
    """Lifting a limit never lowers it."""
    workload = replace(closed(32, 300, 100), concurrency=32)
    engine, plan = served(LLAMA_8B + " --max-num-seqs 4", workload)
    lifted = find_bottleneck(engine, plan, workload, Slo())
    assert isinstance(lifted, Known)
    assert lifted.value.lifted[0].gain == 0


@pytest.mark.parametrize(("itl_ms", "is_met"), [(40, True), (3, False)])
def test_that_no_request_meets_an_objective_is_said_only_where_goodput_is_not_judged(
    both, itl_ms, is_met
):
    """Sixteen seats of a mixture with long prompts: hardly any gap of a request is a prefill's."""
    arguments = (
        "Qwen/Qwen3-Coder-30B-A3B-Instruct --tensor-parallel-size 2 --max-num-seqs 16"
        " --max-num-batched-tokens 32768 --max-model-len 262144"
    )
    load = loads.closed(48, 6000, 400, num_requests=480)
    _, verdict, run, _ = both(arguments, load, Slo(itl_ms=itl_ms))
    assert (run.goodput_requests_per_s > 0) is is_met
    assert (
        any("requests meet the SLO, whichever" in sentence for sentence in verdict.evidence)
        is not is_met
    )


def test_where_closed_form_and_run_are_far_apart_every_limit_is_run(both):
    """The closed form would have seats cost 3 % of next to no goodput; in runs they cost nearly all."""
    arguments = (
        "Qwen/Qwen3-Coder-30B-A3B-Instruct --tensor-parallel-size 2 --max-num-seqs 16"
        " --max-num-batched-tokens 32768 --max-model-len 8192"
    )
    load = loads.closed(48, 6000, 400, num_requests=480)
    screened, confirmed, run, _ = both(arguments, load, Slo(itl_ms=40))
    assert screened.lifted[1].before < run.goodput_requests_per_s / 2
    (seats,) = (lift for lift in confirmed.lifted if lift.limit == "max_num_seqs")
    assert seats.gain < -0.5
    assert "gains more than 1000%, in a run -7%: the run decides" in " ".join(confirmed.evidence)
