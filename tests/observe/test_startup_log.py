"""Logs of every generation, of several processes and runtimes, and of starts that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.observe.startup_log import (
    StartupLog,
    log_reading,
    read_startup_log,
    unread_lines,
)
from scheduler_reader.value import Known

INPUTS = Path(__file__).parent / "inputs"
RECORDED = INPUTS / "recorded-0.32.0"


def numbers(log: StartupLog) -> dict[str, float]:
    return {name: value.value for name, value in log.measures.items() if isinstance(value, Known)}


def settings(log: StartupLog) -> dict[str, Any]:
    return {name: value.value for name, value in log.settings.items() if isinstance(value, Known)}


def test_v0_with_the_time_stamps_of_a_container_runtime() -> None:
    log = read_startup_log(str(INPUTS / "v0-0.6.3.log"))
    assert isinstance(log.version, Known)
    assert (log.version.value, log.version.origin.line) == ("0.6.3", 1)
    assert log.is_up and log.failure is None
    assert numbers(log) == {
        "weights_gib": 7.51,
        "num_blocks": 31552,
        "num_cpu_blocks": 4096,
        "max_model_len": 131072,
        "max_concurrency": 3.85,
        "cuda_graph_capture_s": 24,
        "prompt_tokens_per_s": 4812.3,
        "output_tokens_per_s": 1220.5,
        "running": 256,
        "waiting": 42,  # two of them swapped out
        "running_mean": 298,
        "start_s": 64,
        "kv_cache_usage": 0.415,
        "prefix_cache_hit_rate": 0.125,
    }
    assert settings(log)["tensor_parallel_size"] == 2
    assert settings(log)["enable_prefix_caching"] is False
    assert isinstance(log.arguments, Known)
    assert log.arguments.value == {"model": "meta-llama/Llama-3.1-8B-Instruct"}


def test_v0_with_its_memory_in_one_line() -> None:
    assert numbers(read_startup_log(str(INPUTS / "v0-0.7.3.log"))) == {
        "weights_gib": 15.0084,
        "non_torch_gib": 0.15,
        "activation_gib": 1.23,
        "kv_cache_gib": 54.8,
        "num_blocks": 28057,
        "num_cpu_blocks": 2048,
        "max_model_len": 131072,
        "max_concurrency": 3.42,
        "cuda_graph_capture_s": 17,
        "cuda_graph_gib": 0.26,
    }


def test_v1_of_two_ranks_in_colour_from_docker_compose() -> None:
    log = read_startup_log(str(INPUTS / "v1-0.10.2.log"))
    assert numbers(log) == {
        "weights_gib": 14.6127,
        "kv_cache_gib": 27.8,  # the smaller rank decides
        "kv_cache_tokens": 607232,
        "max_model_len": 32768,
        "max_concurrency": 18.53,
        "cuda_graph_capture_s": 18,
        "cuda_graph_gib": 0.84,
        "prompt_tokens_per_s": 100,
        "output_tokens_per_s": 900.5,
        "running": 64,
        "waiting": 12,
        "running_mean": 76,
        "load_s": 30.201,
        "start_s": 81,
        "kv_cache_usage": 0.305,
        "prefix_cache_hit_rate": 0,
        "acceptance_length": 2.25,
    }
    assert isinstance(log.arguments, Known)
    assert log.arguments.value == {  # what is no plain value is left out
        "model_tag": "Qwen/Qwen3-30B-A3B",
        "max_model_len": 32768,
        "tensor_parallel_size": 2,
        "max_num_seqs": 64,
    }
    assert settings(log)["enable_chunked_prefill"] is True
    assert isinstance(log.attention_backend, Known)
    assert log.attention_backend.value == "Flash Attention"


def test_a_recorded_server_that_was_stopped_has_not_failed() -> None:
    """It prints EngineDeadError while it is shut down."""
    log = read_startup_log(str(RECORDED / "startup.log"))
    assert (log.is_up, log.failure) == (True, None)
    assert numbers(log)["kv_cache_tokens"] == 1536
    assert numbers(log)["num_blocks"] == 48
    assert settings(log)["max_num_batched_tokens"] == 256
    assert isinstance(log.arguments, Known)
    assert log.arguments.value["num_gpu_blocks_override"] == 48
    assert [warning.times for warning in log.warnings if "ulimit" in warning.text] == [1]


def test_a_recorded_start_that_failed_is_explained() -> None:
    failure = read_startup_log(str(RECORDED / "failed-start.log")).failure
    assert failure is not None
    assert (failure.error, failure.line, failure.is_start) == ("ValueError", 76, True)
    assert failure.message.startswith(
        "To serve at least one request with the model's max seq len (1024)"
    )
    assert failure.component == (
        "the check of the KV cache after the profile run (v1/core/kv_cache_utils.py)"
    )
    assert failure.change == (
        "lower max_model_len to the printed estimate, or raise gpu_memory_utilization"
    )
    assert failure.rules == ("MEM103", "MEM112", "MEM116")


@pytest.mark.parametrize(
    ("text", "error", "rules"),
    [
        (
            "ValueError: Free memory on device (5.31/79.18 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.26 GiB). Decrease GPU memory utilization or reduce GPU "
            "memory used by other processes.",
            "ValueError",
            ("MEM117", "MEM119"),
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB.",
            "torch.OutOfMemoryError",
            ("MEM101", "MEM104", "MEM105", "MEM106", "MEM113", "MEM114", "MEM115"),
        ),
        (
            "vllm serve: error: unrecognized arguments: --guided-decoding-backend xgrammar",
            "vllm serve",
            ("FLG",),
        ),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
            "  Value error, User-specified max_model_len (40000) is greater than the derived "
            "max_model_len (max_position_embeddings=32768). [type=value_error, input_value=…]",
            "pydantic_core._pydantic_core.ValidationError",
            ("CMB005",),
        ),
        (
            "[rank0]: ValueError: Total number of attention heads (40) must be divisible by tensor "
            "parallel size (3).",
            "ValueError",
            ("CMB007", "CMB020", "CMB021", "CMB022", "CMB066", "CMB067", "CMB068"),
        ),
        ("ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (976).", "ValueError", ("MEM118",)),
        ("KeyError: 'layers.0.mlp.gate'", "KeyError", ()),
    ],
)  # fmt: skip
def test_an_error_is_mapped_to_the_rules_that_foresee_it(
    text: str, error: str, rules: tuple[str, ...]
) -> None:
    wrapped = text + "\nRuntimeError: Engine core initialization failed. See root cause above."
    failure = log_reading(wrapped, "x.log").failure
    assert failure is not None
    assert (failure.error, failure.rules, failure.is_start) == (error, rules, True)


def test_an_error_after_the_start_is_no_failed_start() -> None:
    text = "INFO:     Application startup complete.\nRuntimeError: CUDA error: an illegal access"
    failure = log_reading(text, "x.log").failure
    assert failure is not None and not failure.is_start


def test_data_parallel_engines_are_summed() -> None:
    line = (
        "INFO 09-20 11:05:00 [loggers.py:123] Engine {}: Avg prompt throughput: 10.0 tokens/s, Avg "
        "generation throughput: {}.0 tokens/s, Running: {} reqs, Waiting: 1 reqs, GPU KV cache "
        "usage: {}.0%, Prefix cache hit rate: 0.0%"
    )
    lines = [("000", 50, 9, 80), ("000", 100, 4, 20), ("001", 200, 6, 40)]
    log = log_reading("\n".join(line.format(*one) for one in lines), "x.log")
    found = numbers(log)
    assert (found["running"], found["waiting"]) == (10, 2)  # as last seen
    assert found["output_tokens_per_s"] == 275  # the means of each engine
    assert found["kv_cache_usage"] == pytest.approx(0.3)


@pytest.mark.parametrize("file", sorted(path.name for path in INPUTS.rglob("*.log")))
def test_every_line_is_understood_or_known_to_be_of_no_use(file: str) -> None:
    (path,) = INPUTS.rglob(file)
    assert [line.text for line in unread_lines(path.read_text())] == []


def test_an_unknown_line_is_noticed() -> None:
    text = "INFO 09-20 11:05:00 [new_module.py:1] Something new: 12"
    assert [line.text for line in unread_lines(text)] == ["Something new: 12"]


def test_every_line_of_the_recorded_servers_is_understood(shared: Path) -> None:
    logs = sorted((shared / "samples").glob("*/startup.log"))
    assert logs
    left = [line.text for log in logs for line in unread_lines(log.read_text())]
    assert left == []


@pytest.mark.parametrize(
    "text",
    [
        "non-default args: {'a': " + "[" * 5000 + "}",
        "non-default args: {__import__('os').system('true')}",
        "Using max model len ,,,",
        "\x1b[" * 2000,
        "GPU KV cache size: 9 tokens" * 3000,
    ],
)
def test_hostile_lines_are_survived(text: str) -> None:
    log_reading(text, "x.log")


def test_a_missing_log_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_startup_log(str(tmp_path / "none.log"))
