"""Build the step model of an engine: which shapes, formats, fits and overheads it runs with."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.performance.collectives import LAYER_ALL_REDUCES, norms_over_all_heads
from scheduler_reader.performance.drafts import Speculation
from scheduler_reader.performance.efficiency import Efficiency, efficiency_of
from scheduler_reader.performance.host import (
    HostOverhead,
    frontend_seconds,
    host_memory_fraction,
    host_overhead,
    tokenizer_seconds,
)
from scheduler_reader.performance.kernels import (
    ACTIVATION_BYTES,
    Collectives,
    Device,
    Experts,
    Gemm,
    gemm,
)
from scheduler_reader.performance.launches import launch_layer_seconds
from scheduler_reader.performance.left_out import left_out, setting
from scheduler_reader.performance.precision import (
    UNQUANTIZED,
    WeightFormat,
    module_format,
    weight_format,
)
from scheduler_reader.performance.settings import Parallelism, is_on, optional, parallelism
from scheduler_reader.performance.shapes import (
    AttentionLayers,
    Product,
    activation_bytes,
    attention_layers,
    products,
    routed_experts,
)
from scheduler_reader.performance.speculation import Drafting, drafting
from scheduler_reader.performance.step import AttentionCost, StepModel
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value

MLA_DECODE_FRACTION = 0.5  # of the bfloat16 peak; absorbed MLA decode multiplies latents
ONE_BYTE_KV = ("fp8", "int8")
HALF_BYTE_KV = ("nvfp4", "int4")


def build_step_model(engine: ResolvedEngine) -> Value[StepModel]:
    """The step model of one data-parallel replica of `engine`, or why there is none."""
    parallel = parallelism(engine)
    if isinstance(engine.model, Unknown):
        return engine.model
    if isinstance(parallel, Unknown):
        return parallel
    model, gpu = engine.model.value, engine.hardware.gpu
    if _peak(gpu, "bfloat16") is None:
        return Unknown(f"the arithmetic peak of {gpu.title} is not known")
    if not (model.intermediate_size or model.moe_intermediate_size):
        return Unknown(f"the intermediate size of {model.id} is not known")
    method = optional(engine, "quantization", None)
    step = _build(engine, model, gpu, parallel.value, method if isinstance(method, str) else None)
    step = replace(step, streamed_s=_streamed_seconds(engine, gpu, step))
    drafts = drafting(engine, model)
    if isinstance(drafts, Drafting):
        speculation = _speculation(engine, step.host, gpu, parallel.value, drafts)
        spread = efficiency_of(gpu).spread["rough"]
        step = replace(step, speculation=speculation, spread=max(step.spread, spread))
    return Known(step, Origin("derived", "step-time model"))


def _speculation(
    engine: ResolvedEngine, host: HostOverhead, gpu: Gpu, parallel: Parallelism, drafts: Drafting
) -> Speculation:
    """A pass of the draft is a step of its model; its host time stands in `Speculation`."""
    draft = None
    if drafts.facts is not None:
        draft = _build(engine, drafts.facts, gpu, parallel, None)
        joined: tuple[Gemm, ...] = ()
        if drafts.joins is not None:
            joined = (_gemm(gpu, efficiency_of(gpu), UNQUANTIZED, drafts.joins),)
        launches = draft.host._replace(step_s=0.0, sequence_s=0.0)
        draft = replace(draft, gemms=(*draft.gemms, *joined), host=launches)
    undrafted = None
    if drafts.stops_async and engine.calibration is None:
        undrafted = host_overhead(engine.release, True, host.launch_layer_s)
    return Speculation(
        drafts.method,
        drafts.drafts,
        drafts.proposed,
        drafts.acceptance,
        draft,
        drafts.step_s,
        drafts.draft_s,
        drafts.routing,
        undrafted_host=undrafted,
    )


def _build(
    engine: ResolvedEngine, model: ModelFacts, gpu: Gpu, parallel: Parallelism, method: str | None
) -> StepModel:
    table = efficiency_of(gpu)
    stored = weight_format(gpu, model.quantization, method)
    is_eager = is_on(engine, "enforce_eager")
    launch_layer_s = launch_layer_seconds(engine.release, model, stored, parallel.tensor)
    host = host_overhead(engine.release, is_on(engine, "async_scheduling"), launch_layer_s)
    calibrated = engine.calibration
    output = Product(model.vocab_size / parallel.tensor, model.hidden_size, 1, "output")
    return StepModel(
        gemms=tuple(
            _gemm(gpu, table, module_format(model.quantization, stored, product.module), product)
            for product in products(model, parallel.tensor)
        ),
        output=_gemm(gpu, table, UNQUANTIZED, output),
        experts=_experts(model, gpu, table, stored, parallel),
        attention=tuple(
            _attention(layers, gpu, table, _kv_bytes(engine, model), model.uses_mla)
            for layers in attention_layers(model, parallel.tensor)
        ),
        collectives=_collectives(engine, model, parallel.tensor, table, is_eager=is_eager),
        host=host if calibrated is None else host.calibrated(calibrated),
        layers=model.layers,
        is_eager=is_eager,
        capture_sizes=_capture_sizes(engine, is_eager),
        batches_in_flight=parallel.pipeline,
        spread=table.spread[_certainty(model, stored, gpu, table)],
        frontend_s=calibrated.request_ms * 1e-3 if calibrated else frontend_seconds(),
        tokenizer_token_s=tokenizer_seconds(),
        kernel_scale=calibrated.kernel_scale if calibrated else 1.0,
        not_modeled=left_out(engine, model, parallel, table, stored),
        activation_token_s=activation_bytes(model, parallel.tensor)
        / (
            _device(gpu, "bfloat16", table).streaming_bytes_per_s
            * table.gemm["bfloat16"].eff_memory
        ),
    )


def _gemm(gpu: Gpu, table: Efficiency, stored: WeightFormat, product: Product) -> Gemm:
    return gemm(
        table.gemm[stored.fit], _device(gpu, stored.math, table), product, stored.weight_bytes
    )


def _experts(
    model: ModelFacts, gpu: Gpu, table: Efficiency, stored: WeightFormat, parallel: Parallelism
) -> Experts | None:
    routed = routed_experts(model, parallel.tensor, parallel.data, parallel.is_expert_parallel)
    if routed is None:
        return None
    if stored.math in ("fp8", "int8", "fp4"):
        name = "fp8_block"
    else:
        name = "mxfp4" if stored.weight_bytes < 1 else "bfloat16"
    return Experts(
        fit=table.moe[name],
        device=_device(gpu, stored.math, table),
        hidden=model.hidden_size,
        weight_bytes=stored.weight_bytes,
        routed=routed,
        imbalance=table.expert_parallel_imbalance if parallel.is_expert_parallel else 1.0,
        routing_shape=table.routing_shape,
        routing_token_s=table.routing_token_us * 1e-6,
    )


def _attention(
    layers: AttentionLayers, gpu: Gpu, table: Efficiency, kv_bytes: float, uses_mla: bool
) -> AttentionCost:
    kv = "bfloat16" if kv_bytes >= 2 else "fp8"
    decode, prefill = table.decode_attention[kv], table.prefill_attention[kv]
    bandwidth, peak, streaming = _device(gpu, "bfloat16", table)
    token_s = layers.kv_values * kv_bytes / (bandwidth * decode.eff_memory)
    pair_s = 4 * layers.heads * layers.kv_values / (peak * MLA_DECODE_FRACTION) if uses_mla else 0.0
    prefill_bandwidth = streaming * prefill.eff_memory
    computed_bytes = 2 * (layers.heads + layers.kv_heads) * layers.head_dim * ACTIVATION_BYTES
    count = layers.layers
    return AttentionCost(
        window=layers.window,
        decode_fixed_s=count * decode.t0_us * 1e-6,
        decode_sequence_s=count * layers.kv_heads * decode.per_sequence_head_us * 1e-6,
        decode_token_s=count * token_s,
        decode_pair_s=count * pair_s,
        kv_token_s=count * layers.kv_values * kv_bytes / bandwidth,
        prefill_fixed_s=count * prefill.t0_us * 1e-6,
        prefill_pair_s=count * 4 * layers.heads * layers.head_dim / (peak * prefill.eff_compute),
        prefill_token_s=count * computed_bytes / prefill_bandwidth,
        prefill_cached_s=count * layers.kv_values * kv_bytes / prefill_bandwidth,
    )


def _collectives(
    engine: ResolvedEngine, model: ModelFacts, ranks: int, table: Efficiency, *, is_eager: bool
) -> Collectives | None:
    """Two all-reduces a layer, after attention and after the MLP, one for the embedding, and those of
    norms over all heads.
    """
    gpu = engine.hardware.gpu
    link = gpu.nvlink_bytes_per_s or gpu.pcie_bytes_per_s
    if ranks == 1 or link is None:
        return None
    fits = table.all_reduce["eager" if is_eager else "graph"]
    fit = fits[min((size for size in fits if size >= ranks), default=max(fits))]
    norms = norms_over_all_heads(engine.release, model.architecture)
    return Collectives(
        fit,
        LAYER_ALL_REDUCES * model.layers + 1,
        model.hidden_size * ACTIVATION_BYTES,
        link / table.nvlink_bytes_per_s,
        norms.all_reduces * model.layers,
        norms.token_bytes,
    )


def _kv_bytes(engine: ResolvedEngine, model: ModelFacts) -> float:
    dtype = str(optional(engine, "kv_cache_dtype", "auto"))
    if dtype == "auto" and model.quantization and engine.release.within("0.14.0", "999"):
        dtype = model.quantization.kv_cache_dtype or dtype
    if any(name in dtype for name in HALF_BYTE_KV):
        return 0.5
    return 1.0 if any(name in dtype for name in ONE_BYTE_KV) else 2.0


def _capture_sizes(engine: ResolvedEngine, is_eager: bool) -> tuple[int, ...]:
    sizes = optional(engine, "cudagraph_capture_sizes", None)
    return () if is_eager or not isinstance(sizes, list | tuple) else tuple(sorted(sizes))


def _device(gpu: Gpu, math: str, table: Efficiency) -> Device:
    """More memory bandwidth than the measured GPU's helps streaming kernels as far as there is more
    arithmetic as well: prefill of the same model takes the same time on H100 and H200.
    """
    peak, plain = _peak(gpu, math), _peak(gpu, "bfloat16")
    assert peak is not None and plain is not None
    bandwidth = gpu.memory_bandwidth_bytes_per_s
    measured = table.memory_bandwidth_bytes_per_s * max(1.0, plain / table.flops_per_s)
    return Device(bandwidth, peak, min(bandwidth, measured))


def _peak(gpu: Gpu, math: str) -> float | None:
    """Peak of a data type; a GPU without bfloat16 runs those models in float16."""
    return gpu.flops_per_s.get(math) or gpu.flops_per_s.get("float16")


def _certainty(model: ModelFacts, stored: WeightFormat, gpu: Gpu, table: Efficiency) -> str:
    """Which spread of the efficiency table applies."""
    if model.uses_mla or model.is_hybrid:
        return "rough"
    if model.is_moe:
        is_mxfp4 = model.quantization is not None and model.quantization.method == "mxfp4"
        is_alike = gpu.flops_per_s.get("bfloat16", 0.0) >= 0.99 * table.flops_per_s
        is_compared = gpu.capability == (9, 0) and (is_mxfp4 or stored.fit == "fp8_block")
        return "mixture" if is_alike and is_compared else "rough"
    if stored.rough is not None:
        return "rough"
    return "measured" if table.gpu == gpu.name else "other_gpu"


def _streamed_seconds(engine: ResolvedEngine, gpu: Gpu, step: StepModel) -> float:
    """Time to read the weights kept in host memory, once a step, on each GPU.

    Neglected: that a prefetching offloader hides a part of it, and experts that nothing touches.
    """
    offloaded = float(setting(engine, "cpu_offload_gb") or 0.0) * 1024**3
    if not offloaded or gpu.pcie_bytes_per_s is None:
        return 0.0
    weights = fsum(gemm.floor_s for gemm in step.gemms) * gpu.memory_bandwidth_bytes_per_s
    if step.experts is not None:
        routed = step.experts.routed
        size = 3 * step.experts.hidden * routed.intermediate * step.experts.weight_bytes
        weights += routed.layers * routed.experts * size
    return min(offloaded, weights) / (gpu.pcie_bytes_per_s * host_memory_fraction())
