"""What a search proposes, what it holds back, and what it never proposes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from loads import closed, offered

from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse.changed_arguments import with_arguments
from scheduler_reader.tune.objective import Aim
from scheduler_reader.tune.point import Wanted, find_point
from scheduler_reader.tune.tuner import Wishes
from scheduler_reader.workload import Lengths, Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
LONG = offered(2.0, 6000, 150, requests=150)
CROWD = closed(128, 3000, 200, num_requests=160)


def test_seats_that_bind_come_first(tuned):
    found = tuned(LLAMA_8B + " --max-num-seqs 4")
    first = found.steps[0]
    assert first.set == {"max_num_seqs": 64}
    assert first.watch == "vllm:num_requests_waiting"
    assert first.gain.metric == "output_tokens_per_s"
    assert first.gain.gain > 1
    assert found.before.method == found.after.method == "simulated"


def test_each_step_starts_where_the_one_before_ends_and_gains(tuned):
    found = tuned(
        LLAMA_8B + " --max-num-seqs 8 --gpu-memory-utilization 0.45 --max-model-len 8192", CROWD
    )
    assert len(found.steps) >= 2
    assert [step.order for step in found.steps] == list(range(1, len(found.steps) + 1))
    for earlier, later in pairwise(found.steps):
        assert later.before == earlier.after
    assert found.before == found.steps[0].before
    assert found.after == found.steps[-1].after
    assert all(step.gain.gain >= 0.01 for step in found.steps)


def test_the_promise_is_what_the_changed_arguments_are_predicted_to_give(tuned):
    found = tuned(
        LLAMA_8B + " --max-num-seqs 8 --gpu-memory-utilization 0.45 --max-model-len 8192", CROWD
    )
    changed = with_arguments(found.case.parsed, found.changes, flag_table("0.18.0"))
    again = find_point(found.case._replace(parsed=changed), Wanted((), is_final=True))
    assert again == found.after


def test_goodput_is_searched_for_under_an_slo(tuned):
    found = tuned(LLAMA_8B + " --max-model-len 16384", LONG, Slo(ttft_ms=3000, itl_ms=45))
    assert found.objective.aim is Aim.goodput
    first = found.steps[0]
    assert first.set["max_num_batched_tokens"] < 8192
    assert first.gain.metric == "goodput_requests_per_s"
    assert first.after.figures["itl_p99_ms"] < first.before.figures["itl_p99_ms"]


def test_tails_are_searched_where_no_throughput_is_to_be_had(tuned):
    found = tuned(LLAMA_8B + " --max-model-len 16384", LONG)
    assert found.objective.aim is Aim.latency
    assert "at the same throughput" in found.notes[0]
    before, after = found.before.figures, found.after.figures
    assert found.steps
    assert after["output_tokens_per_s"] > 0.98 * before["output_tokens_per_s"]
    assert after["itl_p99_ms"] < before["itl_p99_ms"]


def test_what_is_searched_for_can_be_stated(tuned):
    found = tuned(LLAMA_8B, LONG, wishes=Wishes(aim=Aim.throughput))
    assert found.objective.aim is Aim.throughput
    assert found.notes == ()


def test_an_slo_that_nothing_meets_is_said(tuned):
    found = tuned(LLAMA_8B, CROWD, Slo(itl_ms=1))
    assert found.notes == (
        "no setting meets the SLO: the shortest 99th percentiles are searched instead",
    )
    assert found.objective.aim is Aim.latency


def test_what_may_alter_answers_is_held_back_until_it_is_allowed(tuned):
    arguments = LLAMA_8B + " --gpu-memory-utilization 0.5 --max-model-len 8192"
    found = tuned(arguments, CROWD)
    assert "kv_cache_dtype" not in found.changes
    held = found.held_back[0]
    assert (held.name, held.set) == ("kv_cache_dtype", {"kv_cache_dtype": "fp8"})
    allowed = tuned(arguments, CROWD, wishes=Wishes(allowed=("kv_cache_dtype",)))
    assert allowed.changes["kv_cache_dtype"] == "fp8"
    assert allowed.held_back == ()
    assert held.gain.gain > 0


def test_no_other_gpu_is_asked_for(tuned):
    found = tuned(f"{LLAMA_70B} -tp 4", CROWD)
    splits = found.tried.values["parallel_sizes"]
    for split in splits:
        ranks = split.get("tensor_parallel_size", 4) if isinstance(split, dict) else split
        count = split.get("data_parallel_size", 1) if isinstance(split, dict) else 1
        assert ranks * count <= 4


def test_gpus_that_are_there_and_not_used_are_tried(tuned):
    found = tuned(LLAMA_8B, CROWD, gpu_count=2)
    names = set(found.changes)
    assert names & {"tensor_parallel_size", "data_parallel_size"}


@pytest.mark.parametrize("version", ["0.8.5", "0.11.0", "0.18.0", "0.33.0"])
def test_nothing_that_the_release_refuses_is_proposed(tuned, version):
    found = tuned(LLAMA_8B + " --max-num-seqs 8", CROWD, version=version)
    assert found.steps
    assert not found.after.refused
    for spot in found.front:
        final = Wanted(tuple(spot.set.items()), is_final=True)
        assert not find_point(found.case, final).refused
    assert all(spot.point.figures for spot in found.front)


def test_a_refused_combination_is_counted_with_its_rule(tuned):
    found = tuned(LLAMA_8B + " --no-enable-chunked-prefill --max-num-batched-tokens 4096")
    assert found.before.refused == "CMB001"
    assert found.tried.refused["CMB001"] > 0
    assert found.steps[0].gain is None
    assert found.steps[0].set["enable_chunked_prefill"] is True
    assert found.after.figures


def test_an_engine_that_does_not_fit_is_made_to_start_where_that_is_allowed(tuned):
    arguments = "nvidia/Llama-3.3-70B-Instruct-FP8"
    found = tuned(arguments)
    assert found.steps == ()
    assert not found.before.figures
    assert [held.name for held in found.held_back] == ["max_model_len"]
    allowed = tuned(arguments, wishes=Wishes(allowed=("max_model_len",)))
    assert "max_model_len" in allowed.steps[0].set
    assert allowed.steps[0].gain is None
    assert allowed.after.figures


def test_an_unknown_model_is_answered_with_the_reason(tuned):
    found = tuned("acme/unheard-of")
    assert found.steps == () and found.front == ()
    assert found.before.refused.startswith("not known: ")


def test_drafts_are_searched_where_the_engine_speculates(tuned):
    config = '\'{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}\''
    found = tuned(f"{LLAMA_8B} --speculative-config {config}")
    assert 3 in found.tried.values["num_speculative_tokens"]
    assert "num_speculative_tokens" not in tuned(LLAMA_8B).tried.values


def test_a_budget_cuts_the_search_short_and_is_said(tuned):
    found = tuned(LLAMA_8B + " --max-num-seqs 4", wishes=Wishes(budget=5))
    assert found.tried.is_cut_short
    whole = tuned(LLAMA_8B + " --max-num-seqs 4")
    assert not whole.tried.is_cut_short
    assert found.tried.closed_form < whole.tried.closed_form


def test_the_default_workload_is_judged_as_diagnose_does(tuned):
    found = tuned(LLAMA_8B + " --max-num-seqs 4", None)
    assert found.after.method == "closed form"
    assert found.steps[0].set == {"max_num_seqs": 64}


def test_a_goodput_that_runs_do_not_bear_out_is_doubted(tuned):
    # The closed form finds requests that keep it, the run none.
    crowd = closed(64, 3000, 200).replaced({"output_tokens": Lengths(uniform=(100, 300))})
    found = tuned(LLAMA_8B, crowd, Slo(ttft_ms=500, itl_ms=30), wishes=Wishes(budget=60))
    assert found.objective.aim is Aim.goodput
    assert (
        found.after.figures["goodput_requests_per_s"] < 0.01 * found.after.figures["requests_per_s"]
    )
    assert "hardly a request meets the SLO" in found.notes[-1]
