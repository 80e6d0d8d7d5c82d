"""The vision encoder of a multimodal model: its weights, and its part of the profile run.

Before the decoder's dummy step the worker encodes as many of the largest images as the encoder's
token budget takes, and keeps their embeddings until the run is over.  Source:
vllm/v1/worker/gpu_model_runner.py, profile_run; multimodal/encoder_budget.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from scheduler_reader.capacity.constants import Spread, gib_spread, spread, table, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.knowledge.models import ModelFacts


class EncoderShape(NamedTuple):
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
    positions = 2 * int((model.vision or {}).get("position_embedding_size", 0))
    return shape.depth * layer + shape.hidden * (positions + model.hidden_size)


def with_encoder(inputs: CapacityInputs, decoder_peak: Spread) -> Spread:
    """The peak of the profile run: the encoder's own, or the decoder's beside its embeddings."""
    shape, item = (
        encoder_shape(inputs.model),
        table()["encoder_items"].get(inputs.model.architecture),
    )
    if shape is None or item is None:
        return decoder_peak + gib_spread("encoder_profile_gib")
    budget = max(inputs.token_budget, item["tokens"])
    count = budget // item["tokens"]
    held = item["tokens"]
    if held < budget and value_at("encoder_outputs_padded", inputs.release):
        held = budget
    streams = 1 + int((inputs.model.vision or {}).get("deepstack_layers", 0))
    kept = count * held * streams * inputs.model.hidden_size * inputs.dtype_bytes
    patch_bytes = 4 * shape.hidden + 2 * shape.intermediate / inputs.tensor_parallel
    forward = spread(table()["encoder_activation"]).scaled(
        count * item["patches"] * patch_bytes * inputs.dtype_bytes
    )
    return Spread.largest(forward, decoder_peak + Spread.exact(kept))


def _first(sizes: Mapping[str, Any], *names: str) -> int | None:
    return next((int(sizes[name]) for name in names if sizes.get(name)), None)
