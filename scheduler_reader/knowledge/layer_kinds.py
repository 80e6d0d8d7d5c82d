"""What each decoder layer keeps for later tokens: full, sliding, chunked, linear, mamba or nothing.

A config says it with a list, a pattern string or an interval, and some architectures only by
being themselves.  An architecture whose layers cannot be told raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.knowledge.models import LayerKind

_WORDS: dict[str, LayerKind] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "deepseek_sparse_attention": "full",
    "sliding_attention": "sliding",
    "sliding": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
    "conv": "mamba",
    "moe": "none",
    "mlp": "none",
}
_LETTERS: dict[str, LayerKind] = {"*": "full", "M": "mamba", "E": "none", "-": "none"}
# Architectures that mix attention and state in one layer, or keep something else for a token.
_UNTOLD = frozenset(
    {"falcon_h1", "zamba2", "plamo2", "mamba", "mamba2", "falcon_mamba", "phi4flash"}
)


def layer_kinds(config: Mapping[str, Any], layers: int) -> tuple[LayerKind, ...]:
    """The kind of each of `layers` layers; empty where all are full attention."""
    kind = str(config.get("model_type"))
    if kind in _UNTOLD:
        raise ValueError(f"what the layers of a {kind} model keep is not known here")
    kinds = _listed(config) or _spelled(config) or _spaced(config, layers)
    if len(kinds) not in (0, layers):
        raise ValueError(f"{len(kinds)} layers are listed, {layers} expected")
    return () if all(kind == "full" for kind in kinds) else tuple(kinds)


def _listed(config: Mapping[str, Any]) -> list[LayerKind]:
    """One word or number a layer."""
    words = config.get("layer_types") or config.get("layers_block_type")
    if words:
        unknown = sorted(set(words) - _WORDS.keys())
        if unknown:
            raise ValueError(f"layer type {unknown[0]!r} is not known")
        return [_WORDS[word] for word in words]
    if config.get("hybrid_layer_pattern"):  # MiMo V2: 1 is sliding
        return ["sliding" if flag else "full" for flag in config["hybrid_layer_pattern"]]
    if config.get("attn_type_list"):  # MiniMax: 0 is lightning attention
        return ["full" if flag else "linear" for flag in config["attn_type_list"]]
    if config.get("block_configs"):  # Nemotron NAS
        return [_of_block(block["attention"]) for block in config["block_configs"]]
    return []


def _of_block(attention: Mapping[str, Any]) -> LayerKind:
    if attention.get("window_length") or attention.get("sparsify"):
        raise ValueError("a Nemotron NAS layer with a window or sparse attention is not known")
    return "none" if attention.get("no_op") or attention.get("replace_with_linear") else "full"


def _spelled(config: Mapping[str, Any]) -> list[LayerKind]:
    """Letters, or lists of layer numbers."""
    letters = config.get("hybrid_override_pattern")
    if letters:  # Nemotron-H
        return [_LETTERS[letter] for letter in letters]
    linear = config.get("linear_attn_config") or {}
    if linear.get("kda_layers"):  # Kimi Linear counts from 1
        count = len(linear["kda_layers"]) + len(linear["full_attn_layers"])
        return ["linear" if n in linear["kda_layers"] else "full" for n in range(1, count + 1)]
    return []


def _spaced(config: Mapping[str, Any], layers: int) -> list[LayerKind]:
    """Every n-th layer is a full one, or a rule of the architecture's own."""
    numbers = range(layers)
    if config.get("full_attention_interval"):  # Qwen3-Next
        every = config["full_attention_interval"]
        return ["linear" if (n + 1) % every else "full" for n in numbers]
    if config.get("attn_layer_indices"):  # Bamba
        return ["full" if n in config["attn_layer_indices"] else "mamba" for n in numbers]
    if config.get("attn_layer_period"):  # Jamba
        period, offset = config["attn_layer_period"], config["attn_layer_offset"]
        return ["full" if n % period == offset else "mamba" for n in numbers]
    if str(config.get("model_type")).startswith("llama4"):
        return _llama4(config, layers)
    if config.get("compress_ratios") or not config.get("sliding_window"):
        return []
    if config.get("use_sliding_window") is False:
        return []
    pattern = config.get("sliding_window_pattern")
    if isinstance(pattern, str):  # Exaone 4: LLLG
        return ["full" if pattern[n % len(pattern)] == "G" else "sliding" for n in numbers]
    if pattern:
        return ["sliding" if (n + 1) % pattern else "full" for n in numbers]
    first = config.get("max_window_layers", 0) if config.get("use_sliding_window") else 0
    return ["sliding" if n >= first else "full" for n in numbers]


def _llama4(config: Mapping[str, Any], layers: int) -> list[LayerKind]:
    """Layers with rotary positions attend within a chunk, those without to everything."""
    if not config.get("attention_chunk_size"):
        return []
    every = config["no_rope_layer_interval"]
    rope = config.get("no_rope_layers") or [int((n + 1) % every != 0) for n in range(layers)]
    return ["chunked" if uses_rope else "full" for uses_rope in rope]
