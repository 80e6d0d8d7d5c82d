"""A resolved engine as the numbers that the plan needs, and the reasons why there are none."""

from __future__ import annotations

import json
import shlex

import pytest

from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.read_inputs import read_inputs
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.value import Unknown

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"  # chunked local attention


def read(
    arguments: str, version: str = "0.18.0", variables: str = "", gpus: int | None = None
) -> CapacityInputs | Unknown:
    command = shlex.split(f"{variables} vllm serve {arguments}")
    return read_inputs(
        resolve(parse_command(command).engines[0], ResolveOptions(version, "h100", gpus))
    )


def inputs(
    arguments: str, version: str = "0.18.0", variables: str = "", gpus: int | None = None
) -> CapacityInputs:
    found = read(arguments, version, variables, gpus)
    assert isinstance(found, CapacityInputs), found
    return found


def drafting(model: str) -> str:
    config = {"method": "draft_model", "model": model, "num_speculative_tokens": 3}
    return f"{LLAMA_8B} --speculative-config '{json.dumps(config)}'"


@pytest.mark.parametrize(
    ("arguments", "version", "reason"),
    [
        ("--quantization nonsense", "0.18.0", f"how --quantization nonsense stores {LLAMA_8B}"),
        ("--kv-cache-dtype nonsense", "0.33.0", "the bytes per token of kv_cache_dtype nonsense"),
        ("--max-model-len $LENGTH", "0.18.0", "not '$LENGTH'"),
        ("--max-model-len -1", "0.10.0", "max_model_len -1 is no length in this release"),
        ("--dtype float64", "0.18.0", "--dtype does not know 'float64'"),
        ("--cpu-offload-gb ${OFFLOAD}", "0.18.0", "OFFLOAD"),
    ],
)
def test_what_is_not_known_has_a_reason(arguments: str, version: str, reason: str) -> None:
    found = read(f"{LLAMA_8B} {arguments}", version)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_a_draft_model_is_looked_up() -> None:
    found = inputs(drafting("meta-llama/Llama-3.2-1B"))
    assert found.draft_model and found.draft_model.id == "meta-llama/Llama-3.2-1B"
    assert (found.draft_method, found.draft_tokens) == ("draft_model", 3)
    missing = read(drafting("nobody/none"))
    assert isinstance(missing, Unknown)
    assert "the draft model nobody/none is not in the model catalogue" in missing.reason


def test_sizes_of_elements() -> None:
    plain, exact = inputs(LLAMA_8B), inputs(f"{LLAMA_8B} --dtype float32")
    assert (plain.dtype_bytes, plain.kv_dtype) == (2, "bfloat16")
    assert (exact.dtype_bytes, exact.kv_dtype) == (4, "float32")
    online = inputs(f"{LLAMA_8B} --quantization fp8").quantization
    assert online and online.weight_bits == 8


def test_rows_of_adapters() -> None:
    assert inputs(LLAMA_8B).lora_rows == 0
    assert inputs(f"{LLAMA_8B} --enable-lora").lora_rows == 1 * 16
    assert inputs(f"{LLAMA_8B} --enable-lora --max-loras 4 --max-lora-rank 64").lora_rows == 256


@pytest.mark.parametrize(
    ("arguments", "version", "variables", "is_off"),
    [
        (LLAMA_8B, "0.18.0", "", False),
        (f"{LLAMA_8B} --disable-hybrid-kv-cache-manager", "0.18.0", "", True),
        (SCOUT, "0.13.0", "", True),
        (SCOUT, "0.14.0", "", False),
        (SCOUT, "0.13.0", "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=1", False),
        (SCOUT, "0.14.0", "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=0", True),
        (f'{LLAMA_8B} --kv-events-config \'{{"publisher": "zmq"}}\'', "0.16.0", "", True),
        (f'{LLAMA_8B} --kv-events-config \'{{"publisher": "zmq"}}\'', "0.17.0", "", False),
    ],
)
def test_where_all_layers_keep_all_tokens(
    arguments: str, version: str, variables: str, is_off: bool
) -> None:
    assert inputs(arguments, version, variables).hybrid_manager_off is is_off


def test_ranks_that_share_the_tokens_of_a_request() -> None:
    assert inputs(f"{LLAMA_8B} -tp 8 -dcp 2").context_parallel == 2
    assert inputs(f"{LLAMA_8B} -tp 8 -dcp 2 -pcp 2").context_parallel == 4
    assert inputs(f"{LLAMA_8B} -tp 8 -dcp 2 -pcp 2", "0.26.0").context_parallel == 2


def test_an_encoder_runs_unless_told_otherwise() -> None:
    model = "google/gemma-3-4b-it"
    seen = inputs(model)
    assert (seen.loads_encoder, seen.encoder_runs) == (True, True)
    unused = inputs(f"""{model} --limit-mm-per-prompt '{{"image": 0}}'""")
    assert (unused.loads_encoder, unused.encoder_runs) == (True, False)
    for flag, loads in (("--language-model-only", False), ("--skip-mm-profiling", True)):
        off = inputs(f"{model} {flag}", "0.33.0")
        assert (off.loads_encoder, off.encoder_runs) == (loads, False)
    used = inputs(f"""{model} --limit-mm-per-prompt '{{"image": 2}}'""")
    assert (used.loads_encoder, used.encoder_runs) == (True, True)


@pytest.mark.parametrize(
    ("dtype", "size"), [("float16", 2), ("half", 2), ("bfloat16", 2), ("float", 4), ("float32", 4)]
)
def test_sizes_of_dtypes_written_out(dtype: str, size: int) -> None:
    assert inputs(f"{LLAMA_8B} --dtype {dtype}").dtype_bytes == size


@pytest.mark.parametrize(("length", "is_one"), [(-1, False), (0, False), (1, True)])
def test_the_shortest_length_is_one_token(length: int, is_one: bool) -> None:
    found = read(f"{LLAMA_8B} --max-model-len {length}", "0.10.0")
    assert isinstance(found, CapacityInputs) == is_one
    if isinstance(found, CapacityInputs):
        assert (found.max_model_len, found.length_cap) == (1, 131072)


def test_an_automatic_length_is_as_long_as_the_model_allows() -> None:
    found = inputs(f"{LLAMA_8B} --max-model-len auto")
    assert (found.max_model_len, found.length_cap) == (None, 131072)
    assert inputs(f"{LLAMA_8B} --max-model-len 4096").max_model_len == 4096


def test_ranks_stages_and_replicas() -> None:
    plain = inputs(LLAMA_8B)
    assert (plain.tensor_parallel, plain.pipeline_parallel, plain.data_parallel) == (1, 1, 1)
    split = inputs(f"{LLAMA_8B} -tp 2 -pp 4 -dp 8")
    assert (split.tensor_parallel, split.pipeline_parallel, split.data_parallel) == (2, 4, 8)


def test_gpus_count_where_they_are_stated() -> None:
    assert [inputs(LLAMA_8B, gpus=gpus).gpus_stated for gpus in (None, 4)] == [None, 4]


@pytest.mark.parametrize(
    ("version", "variables", "is_v0", "is_second"),
    [
        ("0.7.3", "", True, False),
        ("0.18.0", "", False, False),
        ("0.18.0", "VLLM_USE_V2_MODEL_RUNNER=1", False, True),
    ],
)
def test_the_engine_and_its_runner(
    version: str, variables: str, is_v0: bool, is_second: bool
) -> None:
    found = inputs(LLAMA_8B, version, variables)
    assert (found.is_v0, found.uses_second_runner) == (is_v0, is_second)


def test_two_batches_are_in_flight_with_asynchronous_scheduling() -> None:
    assert inputs(f"{LLAMA_8B} --async-scheduling").batches_in_flight == 2
    assert inputs(f"{LLAMA_8B} --no-async-scheduling").batches_in_flight == 1


def test_sizes_that_are_captured_and_tokens_that_are_drafted() -> None:
    assert inputs(f"{LLAMA_8B} --max-num-seqs 4 --cuda-graph-sizes 1 2 4", "0.10.0").capture_sizes
    assert inputs(LLAMA_8B).capture_sizes[:3] == (1, 2, 4)
    assert inputs(LLAMA_8B).draft_tokens == 0


def test_an_encoder_is_on_every_rank_in_data_parallel() -> None:
    model = "google/gemma-3-4b-it"
    assert not inputs(model).encoder_is_replicated
    assert inputs(f"{model} --mm-encoder-tp-mode data").encoder_is_replicated


def test_chunked_layers_keep_all_tokens_with_eagle() -> None:
    config = {"method": "eagle", "model": "x/draft", "num_speculative_tokens": 3}
    drafting = f"{SCOUT} --speculative-config '{json.dumps(config)}'"
    assert inputs(drafting).hybrid_manager_off
    assert not inputs(SCOUT).hybrid_manager_off


SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"
GRAPHS = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
GROUPS = "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"


@pytest.mark.parametrize(
    ("model", "version", "variable"),
    [
        (LLAMA_8B, "0.18.0", SAMPLER),
        (LLAMA_8B, "0.18.0", GRAPHS),
        (f"{SCOUT} -tp 8", "0.18.0", GROUPS),
    ],
)
def test_a_variable_that_nothing_resolves_makes_the_plan_unknown(
    model: str, version: str, variable: str
) -> None:
    found = read(model, version, f"{variable}=$X")
    assert isinstance(found, Unknown)
    assert variable in found.reason


@pytest.mark.parametrize(
    ("version", "variable"),
    [("0.12.0", GRAPHS), ("0.18.0", GROUPS), ("0.18.0", "VLLM_ALL2ALL_BACKEND")],
)
def test_a_variable_that_decides_nothing_here_may_be_unknown(version: str, variable: str) -> None:
    """The release does not read it; the model has no chunked layers, or no experts."""
    assert inputs(LLAMA_8B, version, f"{variable}=$X") == inputs(LLAMA_8B, version)


def test_a_release_without_data_parallelism_has_one_replica() -> None:
    found = inputs("mistralai/Mixtral-8x7B-Instruct-v0.1 -tp 2", "0.6.6")
    assert (found.data_parallel, found.gathered_ranks) == (1, 1)
