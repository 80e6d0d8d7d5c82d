"""Seconds of one kernel: GEMM, decode and prefill attention, all-reduce, mixture of experts.

Every formula is a roofline with the achieved fractions of `efficiency`; each says which side of
the roofline binds.  All sizes are those of one GPU rank.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_reader.performance.efficiency import AllReduceFit, GemmFit, MoeFit
from scheduler_reader.performance.shapes import Product, RoutedExperts
from scheduler_reader.record import Record

ACTIVATION_BYTES = 2.0  # activations travel in bfloat16 or float16


class Device(Record):
    """The rates of one GPU that kernels are bound by.

    Kernels that move data with little arithmetic (quantizing, norms, attention's own traffic in
    prefill) are bound by their instructions before a faster memory is: `streaming_bytes_per_s`.
    """

    bandwidth_bytes_per_s: float
    flops_per_s: float  # of the data type the products run in
    streaming_bytes_per_s: float


class KernelTime(Record):
    """Seconds of a kernel, and whether memory traffic (not arithmetic) binds it."""

    seconds: float
    is_memory_bound: bool


class Gemm(Record):
    """`layers` equal products a step, their time reduced to what varies with the tokens.

    `weights_s` reads the weights at the achieved bandwidth, `floor_s` all of them at the full one.
    """

    layers: int
    fixed_s: float
    compute_token_s: float
    weights_s: float
    activation_token_s: float
    quantize_token_s: float
    p: float
    floor_s: float


class Experts(Record):
    """The routed experts of all layers, one rank's share; `imbalance` is the arithmetic of the
    busiest rank over the mean, `routing_shape` as in `touched_experts`.  `routing_token_s`: choosing
    the experts of a token, sorting by expert, gathering and adding up, the same on every rank.
    """

    fit: MoeFit
    device: Device
    hidden: float
    weight_bytes: float
    routed: RoutedExperts
    imbalance: float
    routing_shape: float
    routing_token_s: float


class Collectives(Record):
    """The all-reduces of one step, `calls` of hidden states and `norm_calls` of the sums that norms over
    all heads need; `link_ratio` is this GPU's link over the measured one.
    """

    fit: AllReduceFit
    calls: int
    hidden_bytes: float
    link_ratio: float
    norm_calls: int = 0
    norm_bytes: float = 0.0


def gemm(fit: GemmFit, device: Device, product: Product, weight_bytes: float) -> Gemm:
    """Products of tokens by a k × n matrix whose elements are stored in `weight_bytes` bytes."""
    n, k = product.n, product.k
    achieved = device.bandwidth_bytes_per_s * fit.eff_memory
    return Gemm(
        layers=product.layers,
        fixed_s=fit.t0_us * 1e-6,
        compute_token_s=2 * n * k / (device.flops_per_s * fit.eff_compute),
        weights_s=n * k * weight_bytes / achieved,
        activation_token_s=(k * weight_bytes + n * ACTIVATION_BYTES) / achieved,
        quantize_token_s=fit.quantize_bytes * k / device.streaming_bytes_per_s,
        p=fit.p,
        floor_s=product.layers * n * k * weight_bytes / device.bandwidth_bytes_per_s,
    )


def gemm_seconds(gemms: Iterable[Gemm], tokens: float) -> tuple[float, float]:
    """Seconds of the products of all layers for `tokens` rows: of all, and of those that memory
    traffic binds.
    """
    seconds = memory_bound_s = 0.0
    for layers, fixed_s, compute_token_s, weights_s, token_s, quantize_token_s, p, _ in gemms:
        compute_s, memory_s = tokens * compute_token_s, weights_s + tokens * token_s
        bound_s = (compute_s**p + memory_s**p) ** (1 / p)
        each_s = layers * (fixed_s + bound_s + tokens * quantize_token_s)
        seconds += each_s
        if memory_s >= compute_s:
            memory_bound_s += each_s
    return seconds, memory_bound_s


def expert_weight_seconds(experts: Experts, tokens: float) -> float:
    """Seconds to read the experts that `tokens` touch once at the full bandwidth."""
    routed = experts.routed
    touched = touched_experts(
        routed.experts, routed.chosen, tokens * routed.sources, experts.routing_shape
    )
    size = routed.layers * touched * 3 * experts.hidden * routed.intermediate * experts.weight_bytes
    return size / experts.device.bandwidth_bytes_per_s


def all_reduce(collectives: Collectives, tokens: float) -> float:
    """Seconds of all all-reduces of a step: of its hidden states, and of its norms."""
    seconds = collectives.calls * _one(collectives, tokens * collectives.hidden_bytes)
    if collectives.norm_calls:
        seconds += collectives.norm_calls * _one(collectives, tokens * collectives.norm_bytes)
    return seconds


def _one(collectives: Collectives, size: float) -> float:
    fit = collectives.fit
    head = min(size, fit.knee_bytes) / fit.slope1_bytes_per_s
    tail = max(size - fit.knee_bytes, 0.0) / fit.slope2_bytes_per_s
    return fit.alpha_us * 1e-6 + (head + tail) / collectives.link_ratio


def touched_experts(experts: float, chosen: float, tokens: float, shape: float) -> float:
    """Experts whose weights are read when each of `tokens` picks `chosen` of them.

    Some experts are wanted more than others: their popularity follows a gamma distribution of
    this shape, so a batch touches fewer than with equal chances (an infinite shape).
    """
    share = chosen / experts
    if share >= 1:
        return experts
    missed = (1 + tokens * ((1 - share) ** (-1 / shape) - 1)) ** -shape
    return float(experts * (1 - missed))


def mixture(experts: Experts, tokens: float, unlike: float | None = None) -> KernelTime:
    """Gate, up and down projection of the routed experts of all layers.

    Of `tokens`, `unlike` choose their experts for themselves, the others take those of a neighbour;
    None: all of them do.
    """
    fit, device, routed = experts.fit, experts.device, experts.routed
    unlike = (tokens if unlike is None else unlike) * routed.sources
    tokens = tokens * routed.sources
    matrix = 3 * experts.hidden * routed.intermediate
    products = 2 * tokens * routed.chosen * experts.imbalance * matrix
    compute = products / (device.flops_per_s * fit.eff_compute)
    touched = touched_experts(routed.experts, routed.chosen, unlike, experts.routing_shape)
    traffic = touched * matrix * experts.weight_bytes
    rate = device.bandwidth_bytes_per_s
    if experts.weight_bytes < 1:  # unpacked by instructions on their way
        rate = device.streaming_bytes_per_s
    memory = traffic / (rate * fit.eff_memory)
    fixed = (fit.t0_us + fit.per_expert_us * routed.experts) * 1e-6
    fixed += tokens * experts.routing_token_s
    seconds = routed.layers * (fixed + _roofline(compute, memory, fit.p))
    return KernelTime(seconds, memory >= compute)


def _roofline(compute: float, memory: float, p: float) -> float:
    return float((compute**p + memory**p) ** (1 / p))
