"""Figures stated by hand are measures like others, and say that they are stated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import scheduler_reader
from scheduler_reader.errors import UsageError
from scheduler_reader.observe.measures import MEASURES
from scheduler_reader.observe.observation import (
    concurrency_of,
    observe,
    observed_workload,
    workload_note,
)
from scheduler_reader.observe.stated import read_stated, stated_measures
from scheduler_reader.workload import DEFAULT_WORKLOAD

SERVED = ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"]


def seen(*options: str):
    observation = observe(stated=read_stated(options))
    assert observation is not None
    return observation


@pytest.mark.parametrize("text", ["97%", "0.97", " 97 % "])
def test_a_share_may_be_a_percentage(text):
    assert seen(f"kv_cache_usage={text}").get("kv_cache_usage") == pytest.approx(0.97)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("itl_p99_ms", "write NAME=VALUE, such as itl_p99_ms=900"),
        ("ttft_ms=5", "no measure ttft_ms; nearest: ttft_p99_ms"),
        ("xyzzy=5", "no measure xyzzy; docs/observation.md lists them"),
        ("kv_cache_usage=97", "is a share of at most 1 (or 100%), not 97"),
        ("waiting=many", "takes a number of 0 or more, not many"),
        ("waiting=-1", "takes a number of 0 or more, not -1"),
        ("waiting=5%", "takes a number of 0 or more, not 5%"),
        ("waiting=inf", "takes a number of 0 or more, not inf"),
    ],
)
def test_a_wrong_figure_is_told_in_one_line(option, says):
    with pytest.raises(UsageError) as raised:
        read_stated([option])
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_nothing_stated_is_no_observation():
    assert observe(stated=read_stated([])) is None


def test_a_stated_rate_and_cap_are_the_clients():
    assert seen("offered_requests_per_s=20").is_open_loop
    capped = seen("offered_requests_per_s=20", "offered_concurrency=8", "running_mean=8")
    assert not capped.is_open_loop
    assert concurrency_of(seen("offered_concurrency=32", "running=3")) == 32


def test_a_stated_load_is_the_workload():
    workload = observed_workload(
        seen("input_tokens_mean=4000", "output_tokens_mean=200", "offered_concurrency=12")
    )
    assert workload is not None
    assert (workload.concurrency, workload.num_requests) == (12, 120)
    assert workload.input_tokens.mean == 4000


@pytest.mark.parametrize(("prompts", "outputs"), [(14, 56), (8000, 100), (3, 3)])
def test_tokens_a_second_tell_the_ratio_of_the_lengths(prompts, outputs):
    """One of the default lengths is cut, so that nothing gets longer than a default load."""
    figures = (f"prompt_tokens_per_s={prompts}", f"output_tokens_per_s={outputs}")
    observation = seen(*figures, "running=0.9", "waiting=0")
    workload = observed_workload(observation)
    assert workload is not None
    prompt, output = workload.input_tokens.mean, workload.output_tokens.mean
    assert prompt / output == pytest.approx(prompts / outputs, rel=0.05)
    usual = (DEFAULT_WORKLOAD.input_tokens.mean, DEFAULT_WORKLOAD.output_tokens.mean)
    assert prompt <= usual[0] and output <= usual[1] and (prompt, output) != usual
    assert workload.concurrency == 1
    assert "ratio of prompt to output and concurrency as observed" in workload_note(observation)


def test_preemptions_and_requests_make_a_share():
    assert seen("preemptions=9", "requests=120").get("preemptions_per_request") == 0.075


def test_what_is_stated_comes_before_what_is_recorded(tmp_path):
    recorded = tmp_path / "bench.json"
    recorded.write_text(
        json.dumps(
            {"request_throughput": 2.0, "output_throughput": 400.0, "total_input_tokens": 10}
        )
    )
    observation = observe(bench=[str(recorded)], stated=read_stated(["requests_per_s=3"]))
    assert observation is not None
    assert observation.get("requests_per_s") == 3.0
    assert observation.get("output_tokens_per_s") == 400.0
    assert observation.sources == (str(recorded), "stated by the user")


def test_the_report_says_who_says_it():
    (reading,) = scheduler_reader.diagnose(
        SERVED, gpu="h100", observed={"waiting": 12, "kv_cache_usage": 0.99, "running": 40}
    )
    (engine,) = json.loads(scheduler_reader.to_json([reading]))["engines"]
    assert engine["observed"]["sources"] == ["stated by the user"]
    assert engine["observed"]["measures"]["waiting"] == {
        "value": 12.0,
        "origin": "stated by the user (--observed)",
    }
    assert engine["bottleneck"]["kind"] == "kv_starvation"
    with pytest.raises(UsageError, match="no measure wait"):
        stated_measures({"wait": 1})


def test_the_page_names_every_measure_once():
    page = (Path(__file__).parents[2] / "docs" / "observation.md").read_text(encoding="utf-8")
    rows = page.partition("| about | names |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`([a-z_0-9]+)`", rows)) == sorted(MEASURES)
