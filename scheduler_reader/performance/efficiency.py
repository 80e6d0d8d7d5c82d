"""Measured kernel efficiencies of `compat_matrix/efficiency/`, scaled to the GPU at hand.

A GPU with tables of its own uses them; any other takes the reference GPU's fractions of peak with
its own peaks and bandwidth.  That transfers what the kernels lose, not how they were tuned, so the
uncertainty is wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.record import Record

REFERENCE = "h100-sxm"


class FitError(Record):
    """How far a fit is from what it was fitted to, relative: the median, and nine in ten."""

    median: float
    p90: float


class GemmFit(Record):
    """One GEMM kernel family: `t0 + (compute^p + memory^p)^(1/p) + quantization`."""

    t0_us: float
    eff_compute: float
    eff_memory: float
    p: float
    quantize_bytes: float
    error: FitError


class DecodeAttentionFit(Record):
    t0_us: float
    eff_memory: float
    per_sequence_head_us: float
    error: FitError


class PrefillAttentionFit(Record):
    t0_us: float
    eff_compute: float
    eff_memory: float
    error: FitError


class AllReduceFit(Record):
    alpha_us: float
    knee_bytes: float
    slope1_bytes_per_s: float
    slope2_bytes_per_s: float
    error: FitError


class MoeFit(Record):
    t0_us: float
    eff_compute: float
    eff_memory: float
    p: float
    per_expert_us: float
    error: FitError


class Efficiency(Record):
    """The fits of the GPU that was measured.  `spread` is a relative half-width of step time."""

    gpu: str
    gemm: Mapping[str, GemmFit]
    decode_attention: Mapping[str, DecodeAttentionFit]
    prefill_attention: Mapping[str, PrefillAttentionFit]
    all_reduce: Mapping[str, Mapping[int, AllReduceFit]]  # graph or eager → ranks → fit
    moe: Mapping[str, MoeFit]
    expert_parallel_imbalance: float
    routing_shape: float
    routing_token_us: float
    nvlink_bytes_per_s: float
    memory_bandwidth_bytes_per_s: float
    flops_per_s: float  # in bfloat16
    spread: Mapping[str, float]


def efficiency_of(gpu: Gpu) -> Efficiency:
    """The fits measured on `gpu`, else those of the reference GPU (compare `Efficiency.gpu`)."""
    path = f"efficiency/{gpu.name}.yaml"
    return _load(path if path in documents("compat_matrix", "efficiency/") else _reference_path())


def _reference_path() -> str:
    return f"efficiency/{REFERENCE}.yaml"


@cache
def _load(path: str) -> Efficiency:
    try:
        document: dict[str, Any] = documents("compat_matrix", "efficiency/")[path]
        return Efficiency(
            gpu=document["gpu"],
            gemm=_table(GemmFit, document["gemm"]),
            decode_attention=_table(DecodeAttentionFit, document["decode_attention"]),
            prefill_attention=_table(PrefillAttentionFit, document["prefill_attention"]),
            all_reduce={
                mode: {int(ranks): _fit(AllReduceFit, row) for ranks, row in rows.items()}
                for mode, rows in document["all_reduce"].items()
            },
            moe=_table(MoeFit, document["moe"]),
            expert_parallel_imbalance=document["expert_parallel_imbalance"],
            routing_shape=document["routing_shape"],
            routing_token_us=document["routing_token_us"],
            nvlink_bytes_per_s=document["peaks"]["nvlink_bytes_per_s"],
            memory_bandwidth_bytes_per_s=document["peaks"]["memory_bandwidth_bytes_per_s"],
            flops_per_s=document["peaks"]["flops_per_s"]["bfloat16"],
            spread=document["spread"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"compat_matrix/{path}: {error}") from error


def _table(fit: Any, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: _fit(fit, row) for name, row in rows.items()}


def _fit(fit: Any, row: Mapping[str, Any]) -> Any:
    return fit(**{**row, "error": FitError(**row["error"])})
