"""Which layers of a mixture-of-experts model have experts, and how large each part is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def expert_facts(
    config: Mapping[str, Any], spelled: Callable[[str], Any], layers: int
) -> dict[str, Any]:
    """The expert fields of `ModelFacts`; empty for a dense model.

    `spelled` gives a field under any of its spellings.
    """
    experts = spelled("experts") or 0
    if experts <= 1:
        return {}
    inner = spelled("moe_intermediate_size") or config.get("intermediate_size")
    if inner is None:
        raise ValueError("moe_intermediate_size is missing")
    with_experts = _layers_with_experts(config, spelled, layers)
    leading = next(iter(with_experts), layers)
    is_plain = with_experts == list(range(leading, layers))
    return {
        "experts": experts,
        "experts_per_token": spelled("experts_per_token") or 1,
        "moe_intermediate_size": inner,
        "shared_expert_intermediate_size": _shared(config, inner),
        "dense_layers": leading,
        "moe_layers": () if is_plain else tuple(with_experts),
    }


def _layers_with_experts(
    config: Mapping[str, Any], spelled: Callable[[str], Any], layers: int
) -> list[int]:
    if config.get("hybrid_override_pattern"):
        return [n for n, letter in enumerate(config["hybrid_override_pattern"]) if letter == "E"]
    if "moe" in (config.get("layers_block_type") or ()):
        return [n for n, word in enumerate(config["layers_block_type"]) if word == "moe"]
    if config.get("mlp_layer_types"):
        return [n for n, word in enumerate(config["mlp_layer_types"]) if word == "sparse"]
    if isinstance(config.get("moe_layer_freq"), list):
        return [n for n, flag in enumerate(config["moe_layer_freq"]) if flag]
    if config.get("moe_layers"):
        return sorted(config["moe_layers"])
    if config.get("expert_layer_period"):  # Jamba
        period, offset = config["expert_layer_period"], config["expert_layer_offset"]
        return [n for n in range(layers) if n % period == offset]
    first = spelled("dense_layers") or 0
    dense = set(config.get("mlp_only_layers") or ())
    step = config.get("interleave_moe_layer_step") or config.get("decoder_sparse_step") or 1
    if isinstance(config.get("moe_layer_freq"), int):
        step = config["moe_layer_freq"]
        return [n for n in range(first, layers) if n % step == 0]
    return [n for n in range(first, layers) if n not in dense and (n + 1) % step == 0]


def _shared(config: Mapping[str, Any], inner: int) -> int | None:
    """Inner size of all shared experts together; None: there are none."""
    number = config.get("n_shared_experts") or config.get("num_shared_experts") or 0
    if config.get("moe_shared_expert_intermediate_size"):  # Nemotron-H: of one
        return int(config["moe_shared_expert_intermediate_size"]) * (number or 1)
    for key in ("shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim"):
        if config.get(key):
            return int(config[key])
    if str(config.get("model_type")).startswith("llama4") or config.get("enable_moe_block"):
        return int(
            config["intermediate_size"]
        )  # Llama 4, and the dense MLP beside Gemma 4's experts
    return number * inner or None
