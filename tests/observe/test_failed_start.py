"""Why a start failed: the words of each release, the cause among what others print after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_reader.knowledge.log_lines import log_lines
from scheduler_reader.observe.failed_start import LoggedFailure
from scheduler_reader.observe.startup_log import log_reading, read_startup_log
from scheduler_reader.rule_engine import all_rules

LOGS = Path(__file__).parent / "logs"
WRAPPED = "RuntimeError: Engine core initialization failed. See root cause above."


def failure(*lines: str) -> LoggedFailure:
    found = log_reading("\n".join((*lines, WRAPPED)), "x.log").failure
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.", "MEM103"),
        ("ValueError: To serve at least one request with the models's max seq len (32768), (2.00 GB KV cache is needed, which is larger than the available KV cache memory (0.78 GB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.", "MEM103"),
        ("ValueError: To serve at least one request with the model's max seq len (204800), (48.44 GiB KV cache is needed, which is larger than the available KV cache memory (24.85 GiB). Based on the available memory, the estimated maximum model length is 105056.", "MEM103"),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "MEM102"),
        ("ValueError: Free memory on device cuda:0 (5.31/79.18 GiB) on startup is less than desired GPU memory utilization (0.9, 71.26 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "MEM117"),
        ("AssertionError: Error in memory profiling. Initial free memory 58.23 GiB, current free memory 59.34 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.", "MEM117"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.57 GiB", "MEM101"),
        ("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.", "MEM113"),
        ("ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (32768). This effectively limits the maximum sequence length to max_num_batched_tokens", "CMB001"),
        ("ValueError: User-specified max_model_len (40000) is greater than the derived max_model_len (max_position_embeddings=32768 or model_max_length=None in model's config.json).", "CMB005"),
        ("vllm: error: unrecognized arguments: --rope-scaling {}", "FLG"),
        ("api_server.py: error: argument --kv-cache-dtype: invalid choice: 'int8' (choose from 'auto', 'fp8')", "FLG"),
        ("ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.", "CMB012"),
        ("ValueError: The quantization method awq_marlin is not supported for the current GPU. Minimum capability: 80. Current capability: 75.", "CMB013"),
        ("ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')", "CMB014"),
        ("ValueError: Quantization method specified in the model config (awq) does not match the quantization method specified in the `quantization` argument (gptq).", "CMB011"),
        ("ValueError: Cannot find the config file for awq", "CMB010"),
        ("ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).", "CMB007"),
        ("AssertionError: 12 is not divisible by 8", "CMB007"),
        ("pydantic_core._pydantic_core.ValidationError: 1 validation error for ParallelConfig\n  Value error, World size (2) is larger than the number of available GPUs (1) in this node. [type=value_error]", "CMB008"),
        ("ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.", "CMB008"),
        ("ValueError: Model architectures ['Qwen3NextForCausalLM'] are not supported for now. Supported architectures: dict_keys(['AquilaModel'])", "CMB069"),
        ("ValueError: The checkpoint you are trying to load has model type `qwen3` but Transformers does not recognize this architecture.", "CMB069"),
        ("Bus error (core dumped)", "DEP201"),
        ("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, unhandled system error, NCCL version 2.21.5", "DEP201"),
        ("Killed", "DEP204"),
        ("ValueError: LoRA rank 64 is greater than max_lora_rank 16.", "CMB061"),
        ("NotImplementedError: Mamba with speculative decoding is not supported yet.", "SPD"),
    ],
)  # fmt: skip
def test_the_words_of_an_error_lead_to_the_rule_that_foresees_it(text: str, rules: str) -> None:
    found = failure(text)
    assert rules in found.rules
    assert found.component and found.means and found.change and found.is_start


def test_a_gated_model_is_no_rule_s_business_but_has_advice() -> None:
    found = failure(
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6)",
        "",
        "Cannot access gated repo for url https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json.",
        "The above exception was the direct cause of the following exception:",
        "OSError: You are trying to access a gated repo.",
        "Make sure to have access to it at https://huggingface.co/meta-llama/Llama-3.1-8B.",
    )
    assert (found.error, found.rules) == ("OSError", ())
    assert found.change is not None and "HF_TOKEN" in found.change


def test_an_unknown_error_is_said_to_be_unknown() -> None:
    found = failure("KeyError: 'layers.0.mlp.gate'")
    assert found == LoggedFailure(
        error="KeyError",
        message="'layers.0.mlp.gate'",
        line=1,
        is_start=True,
        means="this error is not among those known here",
    )


def test_an_error_that_only_passes_on_another_is_said_to_be_one() -> None:
    found = log_reading(WRAPPED, "x.log").failure
    assert found is not None and found.rules == ()
    assert found.means == (
        "this error only passes on that of another process, whose lines are not in this log"
    )


def test_what_other_ranks_print_afterwards_is_not_the_cause() -> None:
    found = failure(
        "(Worker_TP0 pid=1) ERROR 10-06 15:57:50 [multiproc_executor.py:597] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "(Worker_TP1 pid=2) ERROR 10-06 15:57:51 [multiproc_executor.py:597] torch.distributed.DistBackendError: NCCL error: remote process exited",
        "KeyError: 'a detail of the shutdown'",
    )
    assert (found.error, found.line) == ("torch.OutOfMemoryError", 1)


def test_a_warning_with_a_traceback_is_not_the_cause() -> None:
    log = log_reading(
        "(EngineCore pid=1) WARNING 08-22 20:20:14 [import_utils.py:408] Traceback (most recent call last):\n"
        "(EngineCore pid=1) WARNING 08-22 20:20:14 [import_utils.py:408] AssertionError\n",
        "x.log",
    )
    assert log.failure is None


def test_an_error_of_one_request_is_no_end_of_the_server() -> None:
    served = 'INFO:     10.0.0.7:44712 - "POST /v1/completions HTTP/1.1" 200 OK'
    text = "INFO:     Application startup complete.\nERROR:    Exception in ASGI application\nValueError: bad request\n"
    assert log_reading(text + served, "x.log").failure is None
    ended = log_reading(text, "x.log").failure
    assert ended is not None and not ended.is_start


def test_of_a_crash_loop_the_last_start_that_ended_is_read() -> None:
    log = read_startup_log(str(LOGS / "crash-loop.log"))
    assert (log.starts, log.is_up, log.not_understood) == (2, False, ())
    assert log.failure is not None
    assert (log.failure.line, log.failure.rules) == (10, ("MEM101", "MEM102", "MEM117"))


def test_the_rules_that_errors_name_exist() -> None:
    codes = {rule.code for rule in all_rules()}
    named = {start for known in log_lines().failures for start in known.rules}
    assert [start for start in named if not any(code.startswith(start) for code in codes)] == []
