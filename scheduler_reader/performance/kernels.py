"""Seconds of one kernel: GEMM, decode and prefill attention, all-reduce, mixture of experts.

Every formula is a roofline with the achieved fractions of `efficiency`; each says which side of
the roofline binds.  All sizes are those of one GPU rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scheduler_reader.performance.efficiency import AllReduceFit, GemmFit, MoeFit
from scheduler_reader.performance.shapes import RoutedExperts

ACTIVATION_BYTES = 2.0  # activations travel in bfloat16 or float16


@dataclass(frozen=True, slots=True)
class Device:
    """The rates of one GPU that kernels are bound by."""

    bandwidth_bytes_per_s: float
    flops_per_s: float  # of the data type the products run in


@dataclass(frozen=True, slots=True)
class Linear:
    """`count` equal products of tokens by a k × n matrix, `weight_bytes` bytes an element."""

    fit: GemmFit
    device: Device
    n: float
    k: float
    weight_bytes: float
    count: int


@dataclass(frozen=True, slots=True)
class Experts:
    """The routed experts of all layers, one rank's share; `imbalance` is the arithmetic of the
    busiest rank over the mean.
    """

    fit: MoeFit
    device: Device
    hidden: float
    weight_bytes: float
    routed: RoutedExperts
    imbalance: float


@dataclass(frozen=True, slots=True)
class Collectives:
    """The all-reduces of one step; `link_ratio` is this GPU's link over the measured one."""

    fit: AllReduceFit
    count: int
    hidden_bytes: float
    link_ratio: float


class KernelTime(NamedTuple):
    """Seconds of a kernel, and whether memory traffic (not arithmetic) binds it."""

    seconds: float
    is_memory_bound: bool


def gemm(linear: Linear, tokens: float) -> KernelTime:
    """All `count` products for `tokens` rows."""
    fit, device, n, k = linear.fit, linear.device, linear.n, linear.k
    compute = 2 * tokens * n * k / (device.flops_per_s * fit.eff_compute)
    traffic = (n * k + tokens * k) * linear.weight_bytes + tokens * n * ACTIVATION_BYTES
    memory = traffic / (device.bandwidth_bytes_per_s * fit.eff_memory)
    quantization = fit.quantize_bytes * tokens * k / device.bandwidth_bytes_per_s
    seconds = fit.t0_us * 1e-6 + _roofline(compute, memory, fit.p) + quantization
    return KernelTime(linear.count * seconds, memory >= compute)


def weight_seconds(linear: Linear) -> float:
    """Seconds to read the weights once at the full bandwidth."""
    size = linear.count * linear.n * linear.k * linear.weight_bytes
    return size / linear.device.bandwidth_bytes_per_s


def expert_weight_seconds(experts: Experts, tokens: float) -> float:
    """Seconds to read the experts that `tokens` touch once at the full bandwidth."""
    routed = experts.routed
    touched = touched_experts(routed.experts, routed.chosen, tokens * routed.sources)
    size = routed.layers * touched * 3 * experts.hidden * routed.intermediate * experts.weight_bytes
    return size / experts.device.bandwidth_bytes_per_s


def all_reduce(collectives: Collectives, tokens: float) -> float:
    """Seconds of all all-reduces of a step's hidden states."""
    fit, size = collectives.fit, tokens * collectives.hidden_bytes
    head = min(size, fit.knee_bytes) / fit.slope1_bytes_per_s
    tail = max(size - fit.knee_bytes, 0.0) / fit.slope2_bytes_per_s
    return collectives.count * (fit.alpha_us * 1e-6 + (head + tail) / collectives.link_ratio)


def touched_experts(experts: float, chosen: float, tokens: float) -> float:
    """Experts whose weights are read when each of `tokens` picks `chosen` of them at random."""
    return float(experts * (1 - (1 - min(chosen / experts, 1.0)) ** tokens))


def mixture(experts: Experts, tokens: float) -> KernelTime:
    """Gate, up and down projection of the routed experts of all layers."""
    fit, device, routed = experts.fit, experts.device, experts.routed
    tokens = tokens * routed.sources
    matrix = 3 * experts.hidden * routed.intermediate
    products = 2 * tokens * routed.chosen * experts.imbalance * matrix
    compute = products / (device.flops_per_s * fit.eff_compute)
    touched = touched_experts(routed.experts, routed.chosen, tokens)
    traffic = touched * matrix * experts.weight_bytes
    memory = traffic / (device.bandwidth_bytes_per_s * fit.eff_memory)
    fixed = (fit.t0_us + fit.per_expert_us * routed.experts) * 1e-6
    seconds = routed.layers * (fixed + _roofline(compute, memory, fit.p))
    return KernelTime(seconds, memory >= compute)


def _roofline(compute: float, memory: float, p: float) -> float:
    return float((compute**p + memory**p) ** (1 / p))
