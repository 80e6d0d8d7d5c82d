"""What each generation of vLLM prints while it starts, and logs that are not of one server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.observe.measures import MEASURES
from scheduler_reader.observe.startup_log import (
    StartupLog,
    log_reading,
    read_startup_log,
    unread_lines,
)
from scheduler_reader.value import Known, Unknown

LOGS = Path(__file__).parent / "logs"
COMMON = {  # what these four engines have alike
    "dtype": "bfloat16",
    "pipeline_parallel_size": 1,
    "enforce_eager": False,
    "enable_prefix_caching": True,
}


def read(name: str) -> StartupLog:
    return read_startup_log(str(LOGS / name))


def numbers(log: StartupLog) -> dict[str, float]:
    assert set(log.measures) <= set(MEASURES)
    return {name: value.value for name, value in log.measures.items() if isinstance(value, Known)}


def settings(log: StartupLog) -> dict[str, Any]:
    found = {name: value.value for name, value in log.settings.items() if isinstance(value, Known)}
    assert COMMON.items() <= found.items()
    return {name: value for name, value in found.items() if name not in COMMON}


def test_v0_with_its_profile_as_pairs() -> None:
    log = read("v0-0.6.6.log")
    assert (log.is_up, log.failure, log.not_understood) == (True, None, ())
    assert numbers(log) == {
        "weights_gib": 14.9888,
        "non_torch_gib": 0.61,
        "kv_cache_gib": 53.59,
        "num_blocks": 27438,
        "num_cpu_blocks": 2048,
        "max_model_len": 16384,
        "max_concurrency": 26.79,
        "cuda_graph_capture_s": 14,
        "cuda_graph_gib": 0.32,
        "engine_init_s": 18.9,
        "start_s": 35,
        "running": 0,  # nobody came: no rate is known
        "waiting": 0,
        "kv_cache_usage": 0,
    }
    assert settings(log) == {
        "max_model_len": 16384,
        "tensor_parallel_size": 1,
        "quantization": None,
        "kv_cache_dtype": "auto",
        "enable_chunked_prefill": False,
    }
    assert isinstance(log.arguments, Known)
    assert log.arguments.value == {
        "model_tag": "meta-llama/Llama-3.1-8B-Instruct",
        "max_model_len": 16384,
    }


def test_all_arguments_are_told_from_the_defaults_of_the_release_that_prints_them() -> None:
    line = (
        "INFO 01-20 08:00:02 api_server.py:713] args: Namespace(subparser='serve', model_tag='a/b', "
        "host=None, port=8000, allowed_origins=['*'], lora_modules=None, model='facebook/opt-125m', "
        "block_size=None, gpu_memory_utilization=0.9, max_num_seqs=64, enable_prefix_caching=None, "
        "rope_scaling=None, limit_mm_per_prompt={'image': 2}, device='auto', enforce_eager=True, "
        "override_pooler_config=PoolerConfig(a=1, max_num_seqs=2), swap_space=4, "
        "dispatch_function=<function serve at 0x7f0a>, tensor_parallel_size=1)"
    )
    start = "INFO 01-20 08:00:02 api_server.py:712] vLLM API server version 0.6.6\n"
    arguments = log_reading(start + line, "x.log").arguments
    assert isinstance(arguments, Known)
    assert arguments.value == {
        "model_tag": "a/b",
        "model": "facebook/opt-125m",
        "max_num_seqs": 64,
        "limit_mm_per_prompt": {"image": 2},
        "enforce_eager": True,
    }
    for other in ("", start.replace("0.6.6", "of-mine")):
        unknown = log_reading(other + line, "x.log").arguments
        assert isinstance(unknown, Unknown)
        assert unknown.reason == "the log does not name the release whose defaults it lists"


def test_early_v1_without_its_memory_and_under_load() -> None:
    log = read("v1-0.8.5.log")
    assert isinstance(log.version, Known) and log.version.value == "0.8.5.post1"
    assert (log.is_up, log.failure, log.not_understood) == (True, None, ())
    assert numbers(log) == {
        "weights_gib": 15.2683,
        "load_s": 6.102934,
        "kv_cache_tokens": 1520144,
        "num_blocks": 95009,
        "max_model_len": 40960,
        "max_concurrency": 37.11,
        "cuda_graph_capture_s": 21,
        "cuda_graph_gib": 0.61,
        "engine_init_s": 41.03,
        "start_s": 67,
        "prompt_tokens_per_s": 1536,  # means of the two busy lines
        "output_tokens_per_s": 1024,
        "running_mean": 22,
        "running": 30,  # of the last busy line; the idle one after it says nothing
        "waiting": 4,
        "kv_cache_usage": 0.045,
        "prefix_cache_hit_rate": 0.25,
    }
    assert settings(log)["kv_cache_dtype"] == "fp8"
    (warning,) = log.warnings
    assert (warning.line, warning.text.split()[0]) == (5, "Methods")


def test_v1_of_two_ranks_with_the_time_stamps_of_kubernetes() -> None:
    log = read("v1-0.11.0-kubernetes.log")
    assert (log.is_up, log.failure, log.not_understood) == (True, None, ())
    assert numbers(log) == {
        "weights_gib": 34.1012,
        "load_s": 22.75,  # the slower rank
        "activation_gib": 2.41,
        "non_torch_gib": 1.2,
        "kv_cache_gib": 37.52,  # the smaller rank decides
        "kv_cache_tokens": 245888,
        "num_blocks": 7684,
        "block_size": 32,  # of the arguments: 7,684 × 32 tokens
        "max_model_len": 65536,
        "max_concurrency": 3.75,
        "cuda_graph_capture_s": 14,
        "cuda_graph_gib": 0.71,
        "engine_init_s": 45.7,
        "start_s": 78,
    }
    assert isinstance(log.arguments, Known)
    assert log.arguments.value["gpu_memory_utilization"] == 0.95
    assert settings(log)["quantization"] == "compressed-tensors"


def test_late_v1_in_colour_with_graphs_within_the_peak() -> None:
    log = read("v1-0.33.0.log")
    assert isinstance(log.version, Known) and log.version.value == "0.33.0"
    assert (log.is_up, log.failure, log.not_understood) == (True, None, ())
    assert numbers(log) == {
        "weights_gib": 15.0,
        "load_s": 4.210225,
        "non_torch_gib": 0.26,  # 15.26 consumed less the weights
        "activation_gib": 1.19,  # 1.44 less the 0.25 estimated for graphs
        "kv_cache_gib": 56.21,
        "kv_cache_tokens": 460480,
        "max_model_len": 131072,
        "max_concurrency": 3.51,
        "cuda_graph_capture_s": 8,
        "cuda_graph_gib": 0.23,
        "engine_init_s": 29.72,
        "start_s": 44,
        "prompt_tokens_per_s": 9000,
        "output_tokens_per_s": 3000,
        "running": 128,
        "running_mean": 200,
        "waiting": 72,
        "preemptions": 2,
        "kv_cache_usage": 0.975,
        "prefix_cache_hit_rate": 0.03,
    }
    assert settings(log)["max_num_batched_tokens"] == 8192
    assert isinstance(log.attention_backend, Known)
    assert log.attention_backend.value == "FLASH_ATTN"


def test_arguments_within_an_argument_are_not_taken_for_its_neighbours() -> None:
    text = (
        "INFO 11-20 17:00:00 [utils.py:1] non-default args: {'model_tag': 'a, b', 'compilation_config': "
        "CompilationConfig(level=3, {'max_num_seqs': 1}), 'speculative_config': {'method': 'ngram', "
        "'num_speculative_tokens': 3}, 'served_model_name': ['x'], 'backend': <Backend.MP: 'mp'>, "
        "'seed': None, 'enforce_eager': True}"
    )
    arguments = log_reading(text, "x.log").arguments
    assert isinstance(arguments, Known)
    assert arguments.value == {
        "model_tag": "a, b",
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
        "served_model_name": ["x"],
        "seed": None,
        "enforce_eager": True,
    }


def test_a_line_behind_a_bar_of_progress_is_read() -> None:
    text = (
        "vllm-1  | Capturing CUDA graphs (decode, FULL):  98%|#####  | 50/51 [00:29<00:00,  1.61it/s]"
        "(EngineCore pid=40) INFO 08-20 17:28:07 [kv_cache_utils.py:1] GPU KV cache size: 1,139 tokens"
    )
    assert numbers(log_reading(text, "x.log")) == {"kv_cache_tokens": 1139}


def test_each_measure_knows_its_line() -> None:
    value = read("v1-0.8.5.log").measures["kv_cache_tokens"]
    assert isinstance(value, Known)
    assert value.origin.line == 13


def test_of_several_starts_the_last_that_came_up_is_read() -> None:
    first, second = ((LOGS / name).read_text() for name in ("v0-0.6.6.log", "v1-0.8.5.log"))
    log = log_reading(first + second, "x.log")
    assert log.starts == 2
    assert isinstance(log.version, Known) and log.version.value == "0.8.5.post1"
    assert "num_cpu_blocks" not in log.measures


def test_a_new_wording_in_a_file_that_is_read_is_noticed() -> None:
    text = "(EngineCore pid=1) INFO 11-20 17:00:31 [kv_cache_utils.py:1] Room for 460,480 tokens"
    assert [line.number for line in unread_lines(text)] == [1]
    log = log_reading("INFO 11-20 17:00:02 [model.py:1] Using max model len 8\n" + text, "x.log")
    assert log.not_understood == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  vllm:\n    image: vllm/vllm-openai:v0.11.0\n",
        '{"model": "a"}',
        "# TYPE vllm:num_requests_running gauge\n",
        "it is version 0.3\n",
        'Traceback (most recent call last):\n  File "train.py", line 3\nKeyError: 3\n',
    ],
)
def test_what_is_no_log_of_vllm_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.log"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_startup_log(str(file))
    assert str(caught.value) == (
        f"{file}: no line of vLLM in it; expected the log of a vLLM server"
    )


def test_logs_of_several_servers_are_not_mixed(tmp_path: Path) -> None:
    line = "vllm-{} | INFO 05-06 09:00:18 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='a', max_seq_len=8"
    file = tmp_path / "compose.log"
    file.write_text(f"{line.format('a')}\n{line.format('b')}\n")
    with pytest.raises(InputError, match=r"several servers \(vllm-a, vllm-b\); give that of one"):
        read_startup_log(str(file))


@pytest.mark.parametrize("clock", ["13-45 99:99:99", "02-30 10:00:00"])
def test_clocks_that_are_none_give_no_time(clock: str) -> None:
    text = (
        f"INFO {clock} [model.py:1] Using max model len 8\nINFO:     Application startup complete."
    )
    assert "start_s" not in log_reading(text, "x.log").measures
