"""The vision encoder of a multimodal model: its weights, and its part of the profile run.

Before the decoder's dummy step the worker encodes as many of the largest images as the encoder's
token budget takes, and keeps their embeddings until the run is over.  Source:
vllm/v1/worker/gpu_model_runner.py, profile_run; multimodal/encoder_budget.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.capacity.constants import Spread, gib_spread, spread, table, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.record import Record


class EncoderShape(Record):
    """The encoder's transformer: elements and layers."""

    hidden: int
    intermediate: int
    depth: int


def encoder_shape(model: ModelFacts) -> EncoderShape | None:
    """The sizes of the vision encoder, under whichever names its config has; None: not given."""
    sizes = model.vision or {}
    hidden = _first(sizes, "vt_hidden_size", "embed_dim", "hidden_size")
    inner = _first(sizes, "vt_intermediate_size", "intermediate_size")
    depth = _first(sizes, "vt_num_hidden_layers", "depth", "num_hidden_layers")
    inner = inner or int(sizes.get("mlp_ratio", 0)) * (hidden or 0)
    return EncoderShape(hidden, inner, depth) if hidden and inner and depth else None


def encoder_elements(model: ModelFacts) -> int:
    """Weights of the vision encoder by its shape, with its projection; 0: the shape is not given."""
    shape = encoder_shape(model)
    if shape is None:
        return 0
    matrices = 3 if model.architecture in table()["gated_encoders"] else 2
    layer = shape.hidden * (4 * shape.hidden + matrices * shape.intermediate)
    sizes = model.vision or {}
    positions = 2 * int(sizes.get("position_embedding_size", 0))
    return shape.depth * layer + shape.hidden * positions + _projection(model, shape)


def _projection(model: ModelFacts, shape: EncoderShape) -> int:
    """Weights from the encoder's width to the decoder's.

    Qwen's merge neighbouring patches in two matrices, and so for every layer whose output the
    decoder also gets (vllm/model_executor/models/qwen3_vl.py, Qwen3_VisionPatchMerger).
    """
    sizes = model.vision or {}
    side = int(sizes.get("spatial_merge_size") or 0)
    if not side:
        return shape.hidden * model.hidden_size
    merged = side**2 * shape.hidden
    return (1 + int(sizes.get("deepstack_layers") or 0)) * merged * (merged + model.hidden_size)


def with_encoder(inputs: CapacityInputs, decoder_peak: Spread) -> Spread:
    """The peak of the profile run: the encoder's own, or the decoder's beside its embeddings."""
    shape, item = encoder_shape(inputs.model), _largest_item(inputs)
    if shape is None or item is None:
        return decoder_peak + gib_spread("encoder_profile_gib")
    budget = max(inputs.token_budget, item.counted)
    count = _items(inputs, item, budget)
    held = item.tokens
    if held < budget and value_at("encoder_outputs_padded", inputs.release):
        held = budget
    streams = 1 + int((inputs.model.vision or {}).get("deepstack_layers", 0))
    kept = count * held * streams * inputs.model.hidden_size * inputs.dtype_bytes
    patch_bytes = 4 * shape.hidden + 2 * shape.intermediate / inputs.tensor_parallel
    forward = spread(table()["encoder_activation"]).scaled(
        count * item.patches * patch_bytes * inputs.dtype_bytes
    )
    return Spread.largest(forward, decoder_peak + Spread.exact(kept))


class Item(Record):
    """An image or a video: tokens it is counted as, embeddings and patches of it, how many a prompt."""

    counted: int
    tokens: int
    patches: int
    limit: int


def _largest_item(inputs: CapacityInputs) -> Item | None:
    """The item that the profile run encodes: of the kind that counts as most tokens."""
    architecture, unstated = inputs.model.architecture, table()["items_a_prompt"]
    video = value_at("largest_video", inputs.release).get(architecture)
    videos = inputs.items_a_prompt.get("video", unstated)
    if video and videos:
        return Item(video["counted"], video["tokens"], video["patches"], videos)
    image = table()["encoder_items"].get(architecture)
    images = inputs.items_a_prompt.get("image", unstated)
    return image and Item(image["tokens"], image["tokens"], image["patches"], images)


def _items(inputs: CapacityInputs, item: Item, budget: int) -> int:
    """Items encoded at once: what the budget takes, and no more than the sequences can hold.

    Source: vllm/multimodal/encoder_budget.py, MultiModalBudget._get_max_items.
    """
    length = inputs.max_model_len or inputs.length_cap
    a_prompt = max(1, min(item.limit, length // item.counted))
    return max(1, min(budget // item.counted, inputs.max_num_seqs * a_prompt))


def _first(sizes: Mapping[str, Any], *names: str) -> int | None:
    return next((int(sizes[name]) for name in names if sizes.get(name)), None)
