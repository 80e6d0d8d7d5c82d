"""Result files of load generators, each layout as its tool writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.observe.bench import Benchmark, read_bench
from scheduler_reader.value import Known

INPUTS = Path(__file__).parent / "inputs"


def numbers(benchmark: Benchmark) -> dict[str, float]:
    return {
        name: round(value.value, 4)
        for name, value in benchmark.measures.items()
        if isinstance(value, Known)
    }


def test_a_result_of_vllm_bench_serve_is_read_whole() -> None:
    (found,) = read_bench(str(INPUTS / "bench-closed-loop.json"))
    assert (found.tool, found.model) == ("vllm bench serve", "meta-llama/Llama-3.1-8B-Instruct")
    assert (found.concurrency, found.is_open_loop) == (64, False)
    assert numbers(found) == {
        "ttft_mean_ms": 412.6,
        "ttft_p50_ms": 221.4,
        "ttft_p99_ms": 2210.8,
        "itl_mean_ms": 11.9,
        "itl_p50_ms": 10.2,
        "itl_p99_ms": 48.5,
        "tpot_ms": 12.1,
        "output_tokens_per_s": 4516.3,
        "total_tokens_per_s": 22632.3,
        "requests_per_s": 19.65,
        "offered_concurrency": 64.0,
        "requests": 640.0,
        "offered_requests": 640.0,
        "duration_s": 32.57,
        "input_tokens_mean": 922.0,
        "output_tokens_mean": 230.0,
        "e2e_mean_ms": 3183.5,
        "running_mean": 62.5558,
    }


def test_each_measure_names_the_field_it_stands_in() -> None:
    path = str(INPUTS / "bench-closed-loop.json")
    (found,) = read_bench(path)
    value = found.measures["ttft_p99_ms"]
    assert isinstance(value, Known)
    assert str(value.origin) == f"{path} (p99_ttft_ms)"


def test_missing_percentiles_come_from_the_single_requests(tmp_path: Path) -> None:
    content = {
        "request_throughput": 1.0,
        "output_throughput": 3.0,
        "total_input_tokens": 30,
        "request_rate": "inf",
        "num_prompts": 3,
        "ttfts": [0.1, 0.3, 0.0],  # the third request failed
        "itls": [[0.01, 0.03], [0.02], []],
    }
    (found,) = read_bench(write(tmp_path, content))
    assert numbers(found) == {
        "output_tokens_per_s": 3.0,
        "requests_per_s": 1.0,
        "offered_requests": 3.0,
        "ttft_mean_ms": 200.0,
        "ttft_p50_ms": 200.0,
        "ttft_p99_ms": 298.0,
        "itl_mean_ms": 20.0,
        "itl_p50_ms": 20.0,
        "itl_p99_ms": 29.8,
    }
    assert found.concurrency == 3  # no rate and no cap: all at once


def test_an_appended_file_has_one_run_a_document(tmp_path: Path) -> None:
    one = {"request_throughput": 1.0, "output_throughput": 3.0, "total_input_tokens": 30}
    file = tmp_path / "runs.json"
    file.write_text(
        json.dumps(one | {"max_concurrency": 8}) + "\n" + json.dumps(one | {"max_concurrency": 32})
    )
    assert [run.concurrency for run in read_bench(str(file))] == [8, 32]


def test_a_rate_that_a_cap_holds_back_is_a_closed_loop() -> None:
    (found,) = read_bench(str(INPUTS / "bench-open-loop.json"))
    assert found.is_open_loop
    capped = {
        "offered_concurrency": found.measures["running_mean"],
        "offered_requests_per_s": found.measures["offered_requests_per_s"],
    }
    assert not found._replace(measures={**found.measures, **capped}).is_open_loop


def test_guidellm_keeps_a_run_for_each_strategy() -> None:
    slow, fast = read_bench(str(INPUTS / "guidellm.json"))
    assert (slow.tool, slow.model, slow.concurrency) == ("guidellm", "Qwen/Qwen3-8B", 1)
    assert (fast.is_open_loop, fast.concurrency) == (True, None)
    assert numbers(fast) == {
        "ttft_mean_ms": 91.5,
        "ttft_p50_ms": 80.0,
        "ttft_p99_ms": 240.0,
        "itl_mean_ms": 9.5,
        "output_tokens_per_s": 512.0,
        "total_tokens_per_s": 2560.0,
        "requests_per_s": 4.0,
        "running_mean": 5.2,
        "offered_requests_per_s": 4.0,
        "requests": 120.0,
        "failed_requests": 0.0,
        "input_tokens_mean": 512.0,
        "output_tokens_mean": 128.0,
    }


def test_genai_perf_has_units_beside_its_values() -> None:
    (found,) = read_bench(str(INPUTS / "genai-perf.json"))
    assert (found.tool, found.model, found.concurrency) == ("genai-perf", "llama", 16)
    assert numbers(found) == {
        "ttft_mean_ms": 130.5,
        "ttft_p50_ms": 120.0,
        "ttft_p99_ms": 300.0,
        "tpot_ms": 14.25,
        "e2e_mean_ms": 3000.0,
        "output_tokens_per_s": 1072.0,
        "requests_per_s": 5.3333,
        "offered_concurrency": 16.0,
        "requests": 160.0,
        "input_tokens_mean": 550.0,
        "output_tokens_mean": 201.0,
        "running_mean": 16.0,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no known result layout"),
        ('{"results": [1, 2]}', "no known result layout"),
        ("[" * 100_000, "no JSON: nested too deeply"),
        ("hello", "no JSON: Expecting value"),
        ("", "is empty"),
        ("\0", "is a binary file"),
    ],
)
def test_anything_else_is_one_line_that_names_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "result.json"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_bench(str(file))
    assert str(file) in str(caught.value) and message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["12", None, True, [], {"mean": 1}, float("inf")])
def test_a_value_that_is_no_number_is_left_out(tmp_path: Path, value: Any) -> None:
    content = {"request_throughput": 1.0, "output_throughput": 2.0, "total_input_tokens": 3}
    (found,) = read_bench(write(tmp_path, content | {"mean_ttft_ms": value}))
    assert "ttft_mean_ms" not in found.measures


def write(folder: Path, content: Any) -> str:
    file = folder / "result.json"
    file.write_text(json.dumps(content))
    return str(file)
