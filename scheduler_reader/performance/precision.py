"""How the linear layers are stored and multiplied: which GEMM fit, which peak, bytes a weight."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.models import Quantization
from scheduler_reader.record import Record

FOUR_BIT_METHODS = ("bitsandbytes", "awq", "awq_marlin", "gptq", "gptq_marlin", "mxfp4")


class WeightFormat(Record):
    """`fit` names a GEMM fit, `math` the data type of the products (a key of `Gpu.flops_per_s`).

    `rough` says why the fit was not measured for this format, or is None.
    """

    fit: str
    math: str
    weight_bytes: float
    rough: str | None = None


UNQUANTIZED = WeightFormat("bfloat16", "bfloat16", 2.0)


def weight_format(gpu: Gpu, quantization: Quantization | None, method: str | None) -> WeightFormat:
    """The format of quantized linear layers.

    `method` is the engine's quantization; it matters where the checkpoint itself has none
    (`--quantization fp8` quantizes while loading).  A format the GPU cannot multiply is
    dequantized on the way, so it saves bytes and no arithmetic.
    """
    if quantization is not None:
        bits, activation_bits = quantization.weight_bits, quantization.activation_bits
        block, group = quantization.block is not None, quantization.group_size
    elif method in FOUR_BIT_METHODS:
        bits, activation_bits, block, group = 4.0, None, False, 64
    elif method is not None and "fp8" in method:
        bits, activation_bits, block, group = 8.0, 8.0, False, None
    else:
        return UNQUANTIZED
    weight_bytes = bits / 8 + (2.0 / group if group and not block else 0.0)
    if bits >= 16:
        return UNQUANTIZED
    if bits > 4 and (activation_bits == 8 or block) and _supports(gpu, "fp8", gpu.flops_per_s):
        return WeightFormat("fp8_block" if block else "fp8", "fp8", weight_bytes)
    if bits > 4 and activation_bits == 8 and _supports(gpu, "int8", gpu.flops_per_s):
        return WeightFormat("fp8", "int8", weight_bytes, "int8 products, timed like fp8")
    if activation_bits == 4 and _supports(gpu, "fp4", gpu.flops_per_s):
        return WeightFormat("fp8", "fp4", weight_bytes, "fp4 products, with fp8 efficiencies")
    return WeightFormat(
        "bfloat16",
        "bfloat16",
        weight_bytes,
        f"{bits:g}-bit weights, with the kernel efficiencies of bfloat16",
    )


def module_format(
    quantization: Quantization | None, stored: WeightFormat, module: str
) -> WeightFormat:
    """The format of one kind of layer; MXFP4 checkpoints quantize the experts only, others may leave
    attention as it is.
    """
    if quantization is None:
        return stored
    if quantization.method == "mxfp4":
        return UNQUANTIZED
    spared = any("self_attn" in pattern for pattern in quantization.unquantized)
    return UNQUANTIZED if spared and module == "attention" else stored


def _supports(gpu: Gpu, math: str, flops: Mapping[str, float]) -> bool:
    """Whether the GPU multiplies in `math`; FP8 needs compute capability 8.9."""
    return math in flops and (math != "fp8" or gpu.capability >= (8, 9))
