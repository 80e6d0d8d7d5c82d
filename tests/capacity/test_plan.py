"""The whole plan of a command line: numbers, reasons, what is unknown, and public start-up logs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.workload import DEFAULT_WORKLOAD, Lengths

LLAMA_8B = "vllm serve meta-llama/Llama-3.1-8B-Instruct"


def plan(command: str, **options: Any) -> CapacityPlan:
    options = {"vllm_version": "0.18.0", "gpu": "h100"} | options
    engine = resolve(parse_command(shlex.split(command)).engines[0], ResolveOptions(**options))
    return plan_capacity(engine, DEFAULT_WORKLOAD)


def test_unknown_model_has_a_reason_and_no_numbers() -> None:
    found = plan("vllm serve nobody/no-such-model")
    assert found == CapacityPlan(None, found.reason)
    assert "nobody/no-such-model" in found.reason


def test_unknown_setting_has_a_reason_and_no_numbers() -> None:
    found = plan(f"{LLAMA_8B} --gpu-memory-utilization $UTILIZATION")
    assert found == CapacityPlan(None, found.reason)
    assert "$UTILIZATION" in found.reason


def test_ranks_that_do_not_divide_the_heads() -> None:
    found = plan(f"{LLAMA_8B} --tensor-parallel-size 3")
    assert found.starts is None
    assert found.reason == "32 attention heads cannot be split over 3 tensor-parallel ranks"


def test_more_stages_than_layers_have_a_reason_and_no_numbers() -> None:
    found = plan(f"{LLAMA_8B} -pp 33")
    assert found == CapacityPlan(None, found.reason)
    assert "stages without any of the 32 layers" in found.reason
    assert plan(f"{LLAMA_8B} -pp 32").num_blocks is not None


def test_terms_add_up() -> None:
    memory = plan(LLAMA_8B).memory
    assert memory is not None
    parts = memory.weights + memory.activation + memory.non_torch + memory.kv_cache
    assert parts == pytest.approx(memory.budget)
    assert memory.budget == pytest.approx(0.9 * memory.total)


def test_range_holds_the_best_value() -> None:
    found = plan(LLAMA_8B)
    assert found.low and found.high and found.num_blocks
    assert found.low.num_blocks < found.num_blocks < found.high.num_blocks


def test_workload_concurrency_counts_whole_blocks() -> None:
    """Mean 922 + 230.5 tokens: 1,153 of them in 73 blocks; one block is the null block."""
    found = plan(f"{LLAMA_8B} --kv-cache-memory-bytes {731 * 16 * 128 * 1024} --max-model-len 2048")
    assert found.num_blocks == 731
    assert found.workload_concurrency == pytest.approx(10.0)
    assert DEFAULT_WORKLOAD.output_tokens == Lengths(uniform=(205, 256))


BLOCK = 16 * 128 * 1024  # bytes of an 8B model's KV block


def with_blocks(count: float, length: int | str = 2048, **options: Any) -> CapacityPlan:
    memory = int(count * BLOCK)
    command = f"{LLAMA_8B} --kv-cache-memory-bytes {memory} --max-model-len {length}"
    return plan(command, **options)


@pytest.mark.parametrize(("blocks", "requests"), [(732, 731 / 73), (1, 0), (0, 0)])
def test_requests_that_the_blocks_hold_need_not_be_whole(blocks: int, requests: float) -> None:
    assert with_blocks(blocks).workload_concurrency == requests


def test_v0_keeps_no_block_for_padding() -> None:
    found = plan(f"{LLAMA_8B} --num-gpu-blocks-override 730", vllm_version="0.7.3")
    assert (found.num_blocks, found.workload_concurrency) == (730, 10.0)


def test_both_ends_in_bytes_blocks_and_tokens() -> None:
    found = with_blocks(731)
    assert found.low == found.high == (731 * BLOCK, 731, 731 * 16)
    assert (found.kv_cache_tokens, found.max_concurrency) == (731 * 16, 731 / 128)


def test_a_length_that_nothing_holds_has_no_tokens() -> None:
    found = with_blocks(0.5, "auto")
    assert (found.starts, found.kv_cache_tokens, found.max_concurrency) == (False, 0, 0)
    assert found.low == (0, 0, 0)


def test_remedies_are_looked_for_where_it_does_not_start() -> None:
    assert with_blocks(128).remedies == ()
    short = with_blocks(127)
    assert short.starts is False
    assert "kv_cache_dtype" in [remedy.setting for remedy in short.remedies]


def test_a_draft_of_unknown_size_has_a_reason_and_no_numbers() -> None:
    speculation = """--speculative-config '{"method": "mlp_speculator", "model": "x/draft",
    "num_speculative_tokens": 3}'"""
    found = plan(f"{LLAMA_8B} {speculation}")
    assert found == CapacityPlan(None, found.reason)
    assert found.reason.endswith("the draft of speculative method mlp_speculator")


def test_memory_in_bytes_ignores_the_utilization() -> None:
    first, second = (
        plan(f"{LLAMA_8B} --kv-cache-memory-bytes 20G --gpu-memory-utilization {share}")
        for share in (0.5, 0.9)
    )
    assert first.num_blocks == second.num_blocks == 20 * GIB // (16 * 128 * 1024)


def test_offloaded_weights_leave_more_for_blocks() -> None:
    kept, moved = plan(LLAMA_8B), plan(f"{LLAMA_8B} --cpu-offload-gb 4")
    assert kept.memory and moved.memory
    assert moved.memory.kv_cache - kept.memory.kv_cache == pytest.approx(4 * GIB)


def test_hybrid_blocks_hold_a_state() -> None:
    """TP2: (3 x 8192 / 2 + 16 x 128 x 128) x 2 B of state over 1,024 B a token: 536, so 544."""
    found = plan(
        "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --tensor-parallel-size 2",
        vllm_version="0.10.2",
        gpu="h200",
    )
    assert found.block_size == 544
    assert found.num_blocks and found.kv_cache_tokens == found.num_blocks // 4 * 544
    assert found.max_concurrency == pytest.approx(found.num_blocks / (482 + 3))


def test_hybrid_sequences_need_a_block_each() -> None:
    command = "vllm serve nvidia/Qwen3.6-27B-NVFP4 --max-model-len 262144 --kv-cache-dtype fp8"
    refused = plan(command, vllm_version="0.24.0")
    assert refused.starts is not True
    assert "max_num_seqs 1,024" in refused.reason
    assert plan(f"{command} --max-num-seqs 512", vllm_version="0.24.0").starts is True
    assert plan(command, vllm_version="0.19.1").starts is True


def test_a_draft_layer_takes_its_share() -> None:
    speculation = """--speculative-config '{"method": "eagle3", "model": "x/draft",
    "num_speculative_tokens": 3}'"""
    without, with_draft = plan(LLAMA_8B), plan(f"{LLAMA_8B} {speculation}")
    assert without.kv_bytes_per_token == 32 * 4096
    assert with_draft.kv_bytes_per_token == 33 * 4096


def dense_cases(shared: Path) -> list[dict[str, Any]]:
    cases = yaml.safe_load((shared / "truth" / "kv_cases.yaml").read_text())["cases"]
    return [
        case
        for case in cases
        if case["dense_full_attention"]
        and case["build"] == "release"
        and case["confidence"] in ("high", "medium")
        and case["observed"]["started"]
        and (case["observed"]["kv_cache_tokens"] or case["observed"]["num_gpu_blocks"])
    ]


def test_public_start_up_logs(shared: Path) -> None:
    """Error of KV tokens: median at most 2 %, 90th percentile at most 8 %; all are said to start."""
    errors = []
    for case in dense_cases(shared):
        flags = " ".join(f"--{name} {value}" for name, value in case["flags"].items())
        found = plan(
            f"vllm serve {case['model']} {flags}",
            vllm_version=case["vllm_version"].split()[0],
            gpu=case["gpu"].split(" (")[0].replace("A100-80GB", "A100 80GB"),
        )
        assert found.starts is not False, f"{case['id']}: {found.reason}"
        seen, tokens = case["observed"], found.kv_cache_tokens
        if not seen["kv_cache_tokens"]:
            seen, tokens = {"kv_cache_tokens": seen["num_gpu_blocks"]}, found.num_blocks
        assert tokens is not None, f"{case['id']}: {found.reason}"
        errors.append(abs(tokens / seen["kv_cache_tokens"] - 1))
    errors.sort()
    assert len(errors) >= 10
    assert errors[len(errors) // 2] <= 0.02
    assert errors[int(0.9 * len(errors))] <= 0.08
