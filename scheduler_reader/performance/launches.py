"""How long the host launches a layer when there is no CUDA graph to replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.performance.collectives import LAYER_ALL_REDUCES, norms_over_all_heads
from scheduler_reader.performance.host import launch_constants
from scheduler_reader.performance.precision import WeightFormat, module_format


def launch_layer_seconds(
    release: Release, model: ModelFacts, stored: WeightFormat, ranks: int
) -> float:
    """Seconds to launch the kernels of a layer, averaged over the layers of `model`.

    Each of the `ranks` launches on its own, and each of a layer's all-reduces waits for the last one.
    """
    constants, norms = launch_constants(), norms_over_all_heads(release, model.architecture)
    all_reduces = LAYER_ALL_REDUCES + norms.all_reduces if ranks > 1 else 0
    launches = _kernels(model, stored, constants["kernels"]) + all_reduces
    if norms.all_reduces:
        launches += constants["kernels"]["norms_over_all_heads"]
    waited_us = (ranks - 1) * all_reduces * constants["all_reduce_rank_us"]
    return float(launches * constants["kernel_us"] + waited_us) * 1e-6


def _kernels(model: ModelFacts, stored: WeightFormat, counts: Mapping[str, Any]) -> float:
    """Kernels of an average layer beside its all-reduces and norms over all heads."""

    def of(part: str, fmt: WeightFormat) -> float:
        quantized: Mapping[str, float] = {}
        if fmt.math in ("fp8", "int8", "fp4"):
            quantized = counts["quantized_by_block" if fmt.fit == "fp8_block" else "quantized"]
        return float(counts[part] + quantized.get(part, 0))

    attention = of("attention", module_format(model.quantization, stored, "attention"))
    dense = of("mlp", module_format(model.quantization, stored, "mlp"))
    mixed = of("experts", stored)
    if model.shared_expert_intermediate_size:
        mixed += counts["shared_expert"]
    share = 1 - model.dense_layers / model.layers if model.is_moe else 0.0
    return attention + share * mixed + (1 - share) * dense
