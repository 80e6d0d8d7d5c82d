"""Bytes of model weights on one rank: every matrix by its shape and storage format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from math import ceil

from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.draft import draft_matrices, of_draft_model
from scheduler_reader.capacity.encoder import encoder_elements
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.modules import (
    Matrix,
    has_experts,
    intermediate_size,
    layer_matrices,
)
from scheduler_reader.capacity.stages import Stage, stages
from scheduler_reader.knowledge.quantization import Quantization

MIB = 1024**2
VOCABULARY_PADDING = 64  # vllm/model_executor/layers/vocab_parallel_embedding.py
DISAGREEMENT = 0.08  # a published count further off than this says that the shapes miss a part


def weight_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """Bytes that `Model loading took` counts on one rank of a pipeline stage.

    Matrices and embeddings as the caching allocator hands them out, and the table of rotary
    embeddings.  Norms and biases are neglected (below 0.01 %).
    """
    computed = stage_bytes(inputs, stage)
    if stored_is_served(inputs):
        made = made_while_loading(inputs, stage)
        computed = made + (computed - made) * _stored_ratio(inputs)
    computed += _unseen_bytes(inputs, stage) + _draft_bytes(inputs, stage)
    computed += _lora_bytes(inputs, stage)
    return max(0.0, computed - inputs.offload_bytes)


def stored_is_served(inputs: CapacityInputs) -> bool:
    """Whether a local checkpoint's tensors are kept as they are stored: not converted, in 16 bits."""
    model, format_ = inputs.model, inputs.quantization
    is_converted = format_ != model.quantization or (format_ and format_.method == "mxfp4")
    return model.stored is not None and inputs.dtype_bytes == 2 and not is_converted


def _stored_ratio(inputs: CapacityInputs) -> float:
    """A local checkpoint's decoder bytes by those that its shapes give."""
    alone = _alone(inputs)
    whole = stages(inputs.model.layers, 1)[0]
    shaped = stage_bytes(alone, whole) - made_while_loading(alone, whole)
    assert inputs.model.stored is not None
    return inputs.model.stored.decoder_bytes / shaped


def made_while_loading(inputs: CapacityInputs, stage: Stage) -> float:
    """Bytes on one rank that are not in the checkpoint: the rotary table, absorbed projections."""
    derived = sum(
        _bytes(inputs, matrix)
        for index, kind in enumerate(stage.kinds(inputs.model), stage.first)
        for matrix in layer_matrices(inputs, index, kind)
        if matrix.derived
    )
    return derived + _rotary_bytes(inputs)


def stage_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """Bytes of the decoder's matrices, embeddings and rotary table on one rank of a stage."""
    total = sum(_layer_sizes(inputs, stage))
    embedding = _embedding_bytes(inputs)
    is_tied = inputs.model.tied_embeddings
    total += embedding * (stage.is_first or (is_tied and stage.is_last))
    if stage.is_last and not is_tied and not inputs.model.is_pooling:
        total += embedding
    return total + _rotary_bytes(inputs) + _per_layer_bytes(inputs, stage)


def _per_layer_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """Embeddings that every layer has of its own, and what projects into and out of them.

    Source: vllm/model_executor/models/gemma3n.py and gemma4.py.
    """
    model = inputs.model
    size = int(model.extra.get("per_layer_input_size") or 0)
    rows = int(model.extra.get("vocab_per_layer_input") or 0)
    table = rows * model.layers * size / inputs.tensor_parallel
    projection = model.layers * size * model.hidden_size
    own = 2 * size * model.hidden_size * stage.layers
    return ((table + projection) * stage.is_first + own) * inputs.dtype_bytes


def _lora_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """Buffers for the low-rank matrices of every linear layer (vllm/lora/layers, create_lora_weights).

    The parts of a fused layer share one input matrix here; vLLM keeps one for each (a few MiB).
    """
    if not inputs.lora_rows:
        return 0.0
    sides = sum(
        matrix.inputs + matrix.outputs
        for index, kind in enumerate(stage.kinds(inputs.model), stage.first)
        for matrix in layer_matrices(inputs, index, kind)
        if not matrix.plain
    )
    return sides * inputs.lora_rows * inputs.dtype_bytes


def _draft_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """What drafts for speculation: layers like the model's own, or a model of its own."""
    if not stage.is_last:
        return 0.0
    if alone := of_draft_model(inputs):
        return weight_bytes(alone, stages(alone.model.layers, 1)[0])
    return sum(_bytes(inputs, matrix) for matrix in draft_matrices(inputs))


def _layer_sizes(inputs: CapacityInputs, stage: Stage) -> Iterator[float]:
    """Bytes of each layer; equal layers are sized once, unless a pattern may name single ones."""
    format_ = inputs.quantization
    patterns = "".join((*format_.unquantized, *format_.mixed_bits)) if format_ else ""
    names_layers = any(sign.isdigit() for sign in patterns)
    sizes: dict[tuple[str, bool, int, int], float] = {}
    for index, kind in enumerate(stage.kinds(inputs.model), stage.first):
        width = intermediate_size(inputs.model, index)
        alike = (kind, has_experts(inputs.model, index), width, index if names_layers else -1)
        if alike not in sizes:
            matrices = layer_matrices(inputs, index, kind)
            sizes[alike] = sum(_bytes(inputs, matrix) for matrix in matrices)
        yield sizes[alike]


def _embedding_bytes(inputs: CapacityInputs) -> float:
    padding = VOCABULARY_PADDING * inputs.tensor_parallel
    rows = ceil(inputs.model.vocab_size / padding) * VOCABULARY_PADDING
    bits = 8.0 * inputs.dtype_bytes
    if inputs.quantization and inputs.quantization.method == "gguf":
        bits = inputs.quantization.weight_bits
    return allocated(rows * inputs.model.hidden_size * bits / 8)


def _rotary_bytes(inputs: CapacityInputs) -> float:
    """Sines and cosines of every position; of more than text has, where images turn heads too."""
    factors = value_at("rotary_table_factor", inputs.release)
    positions = factors.get(inputs.model.architecture, 1) * (
        inputs.model.max_position_embeddings or 0
    )
    width = inputs.model.qk_rope_head_dim if inputs.model.uses_mla else inputs.model.head_dim
    return float(positions * (width or 0) * inputs.dtype_bytes)


def _bytes(inputs: CapacityInputs, matrix: Matrix) -> float:
    format_ = inputs.quantization
    if format_ is None or matrix.plain or is_listed(matrix.module, format_.unquantized):
        size = matrix.outputs * matrix.inputs * inputs.dtype_bytes
        return matrix.count * allocated(size)
    bits = format_.weight_bits
    for pattern, other in format_.mixed_bits.items():
        if is_listed(matrix.module, (pattern,)):
            bits = other
    packed = allocated(matrix.outputs * matrix.inputs * bits / 8)
    return matrix.count * (packed + _scale_bytes(format_, matrix, inputs.dtype_bytes))


def _scale_bytes(format_: Quantization, matrix: Matrix, dtype_bytes: int) -> float:
    """Scales (and zero points) beside the packed weights of one matrix."""
    if format_.method == "gguf":
        return 0.0  # counted in its bits
    if format_.block:
        rows, columns = format_.block
        return 4.0 * ceil(matrix.outputs / rows) * ceil(matrix.inputs / columns)
    if format_.group_size is None:
        return 4.0 * matrix.outputs
    groups = matrix.outputs * matrix.inputs / format_.group_size
    if format_.method == "bitsandbytes":
        return 4.0 * groups
    if format_.group_size <= 32 and format_.weight_bits == 4 and _is_floating(format_):
        return groups  # one 8-bit scale a group
    zeros = format_.weight_bits / 8 if "awq" in format_.method else 0.0
    return groups * (dtype_bytes + zeros)


def _is_floating(format_: Quantization) -> bool:
    return format_.group_size == 16 or "fp4" in format_.method


def is_listed(module: str, patterns: Iterable[str]) -> bool:
    """Whether a module is named by a checkpoint's list of modules: name parts, globs or `re:`."""
    dotted = f".{module}."
    for pattern in patterns:
        if pattern.startswith("re:"):
            if re.match(pattern[3:], module):
                return True
        elif any(sign in pattern for sign in "*?["):
            if fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}.*"):
                return True
        elif f".{pattern}." in dotted:
            return True
    return False


def _unseen_bytes(inputs: CapacityInputs, stage: Stage) -> float:
    """What the published parameter count has beyond (or below) the decoder's matrices.

    In a multimodal model that is the vision tower.  Another large difference says that some layers
    are not as we think: it is spread like the layers.  Multi-token prediction layers are in the
    file but are not loaded.
    """
    model = inputs.model
    if model.vision:
        return _encoder_bytes(inputs) * stage.is_first
    if model.parameters is None:
        return 0.0
    missing = model.parameters - _decoder_elements(inputs)
    if abs(missing) < DISAGREEMENT * model.parameters or (missing > 0 and model.mtp_layers):
        return 0.0
    bits = inputs.quantization.weight_bits if inputs.quantization else 8 * inputs.dtype_bytes
    return missing * bits / 8 / inputs.tensor_parallel * stage.layers / model.layers


def _encoder_bytes(inputs: CapacityInputs) -> float:
    """The vision tower on one rank of the first stage: not quantized, split like the decoder."""
    if not inputs.loads_encoder:
        return 0.0
    ranks = 1 if inputs.encoder_is_replicated else inputs.tensor_parallel
    if inputs.model.stored is not None:
        return inputs.model.stored.encoder_bytes / ranks
    published = inputs.model.parameters
    elements: float = encoder_elements(inputs.model)
    if published is not None:
        elements = max(0.0, published - _decoder_elements(inputs))
    return elements * inputs.dtype_bytes / ranks


def _decoder_elements(inputs: CapacityInputs) -> float:
    """Weights of the whole decoder: its size on one GPU in 16 bits, halved."""
    alone = _alone(inputs).changed(quantization=None, dtype_bytes=2)
    whole = stages(inputs.model.layers, 1)[0]
    return (stage_bytes(alone, whole) - _rotary_bytes(alone)) / 2


def _alone(inputs: CapacityInputs) -> CapacityInputs:
    return inputs.changed(tensor_parallel=1, data_parallel=1, expert_parallel=False)


def allocated(size: float) -> float:
    """Bytes that PyTorch's caching allocator hands out for a request of `size` bytes.

    From 10 MiB on it takes whole 2 MiB pages from CUDA and gives back a remainder only above
    1 MiB (c10/cuda/CUDACachingAllocator.cpp, get_allocation_size and should_split).
    """
    if size < 10 * MIB:
        return ceil(size / 512) * 512.0
    pages = ceil(size / (2 * MIB)) * 2.0 * MIB
    return pages if pages - size <= MIB else ceil(size / 512) * 512.0
