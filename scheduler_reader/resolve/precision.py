"""Number formats: the model dtype, the quantization method, and the dtype of the KV cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.knowledge.models import Quantization
from scheduler_reader.resolve.case import Case, Range, table
from scheduler_reader.resolve.model_shape import is_pooling
from scheduler_reader.value import Known


def resolve_dtype(case: Case) -> Known[Any]:
    """`dtype`: as written, else the checkpoint's, else what the GPU can do.

    vllm/config.py and vllm/config/model.py, _get_and_verify_dtype and _resolve_auto_dtype.
    """
    names: Mapping[str, str] = table("precision")["dtype_names"]
    written = case.written("dtype")
    if written is not None and written.value != "auto":
        return Known(names.get(written.value, written.value), written.origin)
    checkpoint = case.facts.dtype.removeprefix("torch.")
    supported = _supported_dtypes(case)
    if not case.follows("float32_becomes_preferred"):
        if checkpoint == "float32":
            return case.decided("float16", "float32 checkpoints run in float16")
        return case.decided(checkpoint, "dtype of the checkpoint")
    preferred = supported[0]
    if is_pooling(case) and "float16" in supported:
        preferred = "float16"
    if checkpoint == "float32":
        return case.by_behaviour(preferred, "float32_becomes_preferred")
    if checkpoint in supported:
        return case.decided(checkpoint, "dtype of the checkpoint")
    return case.decided(preferred, f"{case.gpu.title} or the model does not support {checkpoint}")


def resolve_quantization(case: Case) -> Known[Any]:
    """`quantization`: the method that runs, after vLLM's own renaming of the checkpoint's.

    vllm/config/model.py, _verify_quantization, and each method's override_quantization_method.
    """
    written = case.written("quantization")
    scheme = case.facts.quantization
    if scheme is None:
        return written or case.by_default(None, "the checkpoint is not quantized")
    stated = None if written is None else written.value
    for entry in table("precision")["renamed"]:
        if case.within(entry) and _is_renamed(case, scheme, entry):
            if stated is None or stated in entry["given"]:
                return case.decided(
                    entry["value"], f"{scheme.method} checkpoints run as {entry['value']}"
                )
            break
    return written or case.decided(scheme.method, "method of the checkpoint")


def resolve_kv_cache_dtype(case: Case) -> Known[Any]:
    """`kv_cache_dtype`: as written; `auto` where the checkpoint and the model do not change it."""
    written = case.written("kv_cache_dtype")
    value = "auto" if written is None else written.value
    for entry in table("precision")["sparse_attention_kv"]:
        if (
            case.within(entry)
            and value in entry["values"]
            and case.architecture == entry["architecture"]
            and case.gpu.capability[0] == entry.get("major", case.gpu.capability[0])
        ):
            return case.decided(entry["becomes"], f"of {entry['architecture']}")
    if value != "auto" or not case.follows("checkpoint_kv_dtype"):
        return written or case.by_default("auto", "the model dtype")
    declared = _declared_kv_dtype(case)
    if declared is not None:
        return case.by_behaviour(declared, "checkpoint_kv_dtype")
    return written or case.by_default("auto", "the model dtype")


def _supported_dtypes(case: Case) -> list[str]:
    """Dtypes the GPU and the model take, preferred first."""
    data = table("precision")
    major = case.gpu.capability[0]
    dtypes = next(
        (row["value"] for row in data["supported_dtypes"] if major >= row["capability"]),
        ["float32"],
    )
    refused = case.pick(data["float16_refused"])
    if refused and case.facts.model_type in refused["value"]:
        return [dtype for dtype in dtypes if dtype != "float16"]
    return list(dtypes)


def _is_renamed(case: Case, scheme: Quantization, entry: Range) -> bool:
    raw = scheme.raw
    return (
        scheme.method == entry["method"]
        and ("bits" not in entry or raw.get("bits") in entry["bits"])
        and ("symmetric" not in entry or raw.get("sym") is entry["symmetric"])
        and _has_kernel(case, entry)
        and entry.get("model_type", case.facts.model_type) == case.facts.model_type
        and ("algorithm" not in entry or entry["algorithm"] in _algorithm(raw))
    )


def _has_kernel(case: Case, entry: Range) -> bool:
    """Whether the GPU runs the kernels of a method that is bound to CUDA and a compute capability."""
    least = entry.get("capability")
    if least is None:
        return True
    return case.gpu.vendor == "nvidia" and float(case.gpu.compute_capability) >= least


def _algorithm(raw: Mapping[str, Any]) -> str:
    """ModelOpt's own name of the scheme, at either place where checkpoints have it."""
    inner = raw.get("quantization")
    holder = inner if isinstance(inner, Mapping) else raw
    return str(holder.get("quant_algo") or "").upper()


def _declared_kv_dtype(case: Case) -> str | None:
    """KV dtype that a ModelOpt checkpoint declares (get_kv_cache_quant_algo_string)."""
    scheme = case.facts.quantization
    if scheme is None or not scheme.method.startswith("modelopt"):
        return None
    names = [row for row in table("precision")["modelopt_kv_names"] if case.within(row)]
    return next((row["value"] for row in names if row["name"] == scheme.kv_cache_dtype), None)
