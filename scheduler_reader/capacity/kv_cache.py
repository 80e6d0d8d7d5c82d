"""The KV cache of an engine's layers: which layers keep what, and the groups vLLM cuts them into."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_reader.capacity.constants import table, value_at
from scheduler_reader.capacity.draft import draft_layers, of_draft_model
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.kv_layers import RECURRENT, KvLayer, KvLayoutError
from scheduler_reader.capacity.kv_pool import KvLayout, worker_layouts
from scheduler_reader.capacity.modules import attention_shape, heads_per_rank
from scheduler_reader.capacity.recurrent import aligned_block_size, state_blocks
from scheduler_reader.capacity.stages import Stage, stages
from scheduler_reader.knowledge.models import LayerKind


def layouts(inputs: CapacityInputs) -> tuple[KvLayout, ...]:
    """The KV groups of every pipeline stage.

    Raises `MissingFactError` for layers that are not modelled or that the release cannot group.
    """
    held = stages(inputs.model.layers, inputs.pipeline_parallel, inputs.layers_by_stage)
    workers = [stage_layers(inputs, stage) for stage in held]
    keeps_windows = not inputs.hybrid_manager_off
    try:
        return worker_layouts(
            workers,
            inputs.release,
            keeps_windows=keeps_windows and value_at("hybrid_groups", inputs.release),
        )
    except KvLayoutError as refusal:
        raise MissingFactError(str(refusal)) from refusal


def stage_layers(inputs: CapacityInputs, stage: Stage) -> dict[int, KvLayer]:
    """The layers of a pipeline stage with a KV cache of their own, by number, drafts at the end."""
    model = inputs.model
    for fact, words in table()["unmodelled_kv"].items():
        if model.extra.get(fact):
            raise MissingFactError(f"the KV layout of {model.id} is not modelled: {words}")
    owners = model.layers - int(model.extra.get("kv_shared_layers") or 0)
    kinds = {
        number: kind
        for number, kind in enumerate(stage.kinds(model), stage.first)
        if kind != "none" and number < owners
    }
    drafts = draft_layers(inputs) * stage.is_last
    kinds |= {model.layers + index: "full" for index in range(drafts)}
    if not set(kinds.values()) - set(RECURRENT):
        raise MissingFactError(f"{model.id} has no attention layers on a pipeline stage")
    of_kind = _layer_kinds(inputs, kinds)
    layers = {number: of_kind[kind] for number, kind in kinds.items()}
    if stage.is_last and (alone := of_draft_model(inputs)):
        drafting = stage_layers(alone, stages(alone.model.layers, 1)[0])
        layers |= {model.layers + number: layer for number, layer in drafting.items()}
    return layers


def _layer_kinds(
    inputs: CapacityInputs, kinds: Mapping[int, LayerKind]
) -> dict[LayerKind, KvLayer]:
    """The layer of each kind.  Attention blocks are long enough for a recurrent state."""
    token_bytes = {
        kind: token_layer_bytes(inputs, kind) for kind in set(kinds.values()) - set(RECURRENT)
    }
    largest, size = max(token_bytes.values()), inputs.block_size
    is_hybrid = any(kind in RECURRENT for kind in inputs.model.layer_kinds)
    if is_hybrid:
        size = aligned_block_size(inputs, largest)
    found = {kind: _attention_layer(inputs, kind, size, token_bytes[kind]) for kind in token_bytes}
    if is_hybrid:
        held = state_blocks(inputs)
        found |= {
            kind: KvLayer(kind, size, size * largest, state_blocks=held) for kind in RECURRENT
        }
    return found


def _attention_layer(
    inputs: CapacityInputs, kind: LayerKind, block_size: int, token_bytes: float
) -> KvLayer:
    page = block_size * token_bytes
    model = inputs.model
    if kind == "full":
        shards = inputs.context_parallel
        return KvLayer(kind, block_size, page, shards=shards, is_latent=model.uses_mla)
    window = model.sliding_window if kind == "sliding" else model.attention_chunk_size
    steps = min(inputs.batches_in_flight, value_at("window_batches", inputs.release))
    in_flight = inputs.token_budget * steps
    return KvLayer(kind, block_size, page, window=window or 0, in_flight_tokens=in_flight)


def token_layer_bytes(inputs: CapacityInputs, kind: LayerKind) -> float:
    """KV bytes of one token in one attention layer on one rank.

    MLA keeps one latent vector, replicated on every tensor-parallel rank.
    Sparse attention's indexer keeps a key of its own (DeepSeek V3.2: deepseek_v2.py,
    DeepseekV32IndexerCache).
    """
    model, kv_dtype = inputs.model, inputs.kv_dtype
    if model.uses_mla:
        formats = table()["mla_bytes_per_token"]
        width = int(model.kv_lora_rank or 0) + int(model.qk_rope_head_dim or 0)
        latent = formats.get(kv_dtype) or width * table()["kv_cache_dtypes"][kv_dtype]
        indexed = int(model.extra.get("index_head_dim") or 0)  # 8-bit keys and a 32-bit scale
        return float(latent + (indexed + 4 if indexed else 0))
    shape = attention_shape(model, kind)
    heads = heads_per_rank(shape.kv_heads, inputs.tensor_parallel)
    vectors = (shape.size + shape.value_size) * table()["kv_cache_dtypes"][kv_dtype]
    scales = 2 * table()["kv_cache_scale_bytes"].get(kv_dtype, 0)
    return float(heads * (vectors + scales))
