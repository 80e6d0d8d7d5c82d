"""What the capacity model needs to know of an engine, as plain numbers (`read_inputs` reads them)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record

DTYPE_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}


class CapacityInputs(Record):
    """One engine's memory-relevant settings.  Token counts and bytes; `None`: not set."""

    release: Release
    is_v0: bool
    gpu: Gpu
    gpus_stated: int | None  # None: as many as the settings ask for
    model: ModelFacts
    quantization: Quantization | None
    dtype_bytes: int
    kv_dtype: str  # as in `kv_cache_dtypes`, or an MLA format of its own
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    expert_parallel: bool
    context_parallel: int  # ranks that share the tokens of a request
    utilization: float
    max_model_len: int | None  # None: as long as fits ("auto"), up to `length_cap`
    length_cap: int
    max_num_seqs: int
    token_budget: int
    chunks_prompts: bool
    block_size: int
    graph_mode: str  # cudagraph_mode; V0 has none, but captures `capture_sizes`
    capture_sizes: tuple[int, ...]
    uses_second_runner: bool  # Model Runner V2
    batches_in_flight: int
    hybrid_manager_off: bool
    caches_prefixes: bool
    state_dtype: str  # of the recurrent state of mamba and linear-attention layers
    draft_method: str | None  # speculative decoding
    draft_model: ModelFacts | None  # where the draft is a model of its own
    draft_tokens: int
    lora_rows: int  # rows of each LoRA matrix kept for every linear layer: adapters x rank
    kv_cache_memory_bytes: int | None
    blocks_override: int | None
    offload_bytes: float
    loads_encoder: bool  # of a multimodal model
    encoder_runs: bool  # in the profile run
    encoder_is_replicated: bool  # on every tensor-parallel rank
    uses_flashinfer_sampler: bool | None  # the environment's word
    runs_image: bool  # from vLLM's container image
    graphs_in_budget: bool | None  # the environment's word; None: the release decides
    used_bytes: float  # of each GPU, by other processes when the engine starts
    items_a_prompt: Mapping[str, int] = MappingProxyType({})  # images, videos; where stated
    layers_by_stage: tuple[int, ...] = ()  # VLLM_PP_LAYER_PARTITION; empty: spread evenly
    gathered_ranks: int = 1  # data-parallel ranks whose tokens every expert layer gathers

    def changed(self, **changes: Any) -> CapacityInputs:
        return self._replace(**changes)


class MissingFactError(Exception):
    """A setting or model fact that the plan needs is unknown.  Never leaves `capacity/`."""
