"""A step that prompts fill, beside one of decodes: named where the user raised the budget so far."""

from __future__ import annotations

import pytest

import scheduler_reader

R1 = "deepseek-ai/DeepSeek-R1 -tp 8 -pp 2 --enable-chunked-prefill"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def found(command: str, gpu_count: int = 1, **options):
    (reading,) = scheduler_reader.diagnose(
        ["vllm", "serve", *command.split()], gpu="h100", gpu_count=gpu_count, **options
    )
    return [finding for finding in reading.findings if finding.code == "CHK106"]


def test_a_budget_that_stalls_streams_is_named_with_its_step():
    (finding,) = found(f"{R1} --max-num-batched-tokens 32768", 16, vllm_version="0.7.2")
    assert finding.argument == "max_num_batched_tokens"
    assert finding.severity == "note"
    assert "max_num_batched_tokens 32,768 takes about 1," in finding.message


@pytest.mark.parametrize("budget", ["", "--max-num-batched-tokens 8192"])
def test_a_common_budget_is_not(budget):
    assert not found(f"{LLAMA} {budget}", vllm_version="0.18.0")


def test_nothing_is_said_where_the_load_is_stated():
    raised = f"{LLAMA} --max-num-batched-tokens 65536"
    assert found(raised, vllm_version="0.18.0")
    assert not found(
        raised,
        vllm_version="0.18.0",
        workload={"concurrency": 4, "input_tokens": 900, "output_tokens": 200},
    )


def test_what_is_not_predicted_is_not_evaluated():
    unknown = ["vllm", "serve", "not-named/model", "--max-num-batched-tokens", "65536"]
    (reading,) = scheduler_reader.diagnose(unknown, gpu="h100", vllm_version="0.18.0")
    assert "CHK106" in {rule.code for rule in reading.not_evaluated}
