"""How a checkpoint's weights are stored: read from its config, from a flag, or from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from scheduler_reader.data import documents, with_tuples
from scheduler_reader.validation import validated


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """How a checkpoint's linear layers are stored."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    method: str  # fp8, awq, gptq, compressed-tensors, modelopt, mxfp4, bitsandbytes, …
    weight_bits: float  # 8 for fp8; 4 for awq, gptq, nvfp4, mxfp4; scales not counted
    activation_bits: float | None = None  # 8 where activations are quantized too (W8A8)
    group_size: int | None = None  # weights that share a scale; None: per tensor or channel
    block: tuple[int, int] | None = None  # block-fp8: weight_block_size
    unquantized: tuple[str, ...] = ()  # module name patterns that stay in the model dtype
    mixed_bits: Mapping[str, float] = field(
        default_factory=dict
    )  # module pattern → other weight bits
    kv_cache_dtype: str | None = None  # a KV quantization the checkpoint declares
    raw: Mapping[str, Any] = field(default_factory=dict)  # quantization_config as published
    declared: bool = True  # by the checkpoint; False: only `--quantization` says so


def read_quantization(
    config: Mapping[str, Any], exported: Mapping[str, Any] | None = None
) -> Quantization | None:
    """The quantization a `config.json` declares, or its `hf_quant_config.json` (`exported`).

    None: not quantized.  Raises `ValueError` for a declaration whose bits cannot be told.
    """
    declared = config.get("quantization_config") or config.get("compression_config") or {}
    if exported and not declared.get("quant_method"):
        declared = {"quant_method": "modelopt", **exported.get("quantization", exported)}
    if not declared:
        return None
    method = str(declared.get("quant_method") or _guess_method(declared)).lower()
    reader = _READERS.get(method, _by_bits)
    fields = {"method": method, "raw": dict(declared), **reader(declared)}
    layers = _algorithm_by_layer((exported or {}).get("quantization", {}))
    if (
        method == "fp8" and layers
    ):  # an fp8 checkpoint whose experts were exported in another format
        fields["mixed_bits"] = {name: layer["weight_bits"] for name, layer in layers.items()}
    elif config.get("expert_dtype") == "fp4":  # DeepSeek V4: routed experts in fp4, the rest in fp8
        fields["mixed_bits"] = {"*.mlp.experts.*": 4}
    return validated(Quantization, fields)


def _guess_method(declared: Mapping[str, Any]) -> str:
    for key, method in (("quant_algo", "modelopt"), ("config_groups", "compressed-tensors")):
        if key in declared:
            return method
    raise ValueError("quantization_config has no quant_method")


def _by_bits(declared: Mapping[str, Any]) -> dict[str, Any]:
    """AWQ, GPTQ, auto-round, HQQ and others: `bits` and `group_size`."""
    bits = declared.get("bits", declared.get("w_bit", declared.get("weight_bits")))
    if bits is None:
        bits = _known_method(str(declared.get("quant_method"))).get("weight_bits")
    if bits is None:
        raise ValueError(f"quantization_config of {declared.get('quant_method')} has no bits")
    group = declared.get("group_size", declared.get("q_group_size"))
    dynamic = declared.get("dynamic") or {}
    return {
        "weight_bits": bits,
        "group_size": group if group and group > 0 else None,
        "unquantized": _unquantized(declared)
        + tuple(key[2:] for key in dynamic if key.startswith("-:")),
        "mixed_bits": {
            key.removeprefix("+:"): rule["bits"]
            for key, rule in (dynamic | (declared.get("extra_config") or {})).items()
            if isinstance(rule, Mapping) and rule.get("bits", bits) != bits
        },
    }


def _fp8(declared: Mapping[str, Any]) -> dict[str, Any]:
    block = declared.get("weight_block_size")
    return {
        "weight_bits": 8,
        "activation_bits": 8,
        "block": tuple(block) if block else None,
        "unquantized": _unquantized(declared),
    }


def _mxfp4(declared: Mapping[str, Any]) -> dict[str, Any]:
    """OCP microscaling: one 8-bit scale for 32 weights."""
    return {"weight_bits": 4, "group_size": 32, "unquantized": _unquantized(declared)}


def _bitsandbytes(declared: Mapping[str, Any]) -> dict[str, Any]:
    four = declared.get("load_in_4bit") or declared.get("_load_in_4bit")
    return {
        "weight_bits": 4 if four else 8,
        "group_size": 64 if four else None,  # bitsandbytes' block of 4-bit weights per absmax
        "unquantized": _unquantized(declared),
    }


def _compressed_tensors(declared: Mapping[str, Any]) -> dict[str, Any]:
    groups = [g for g in (declared.get("config_groups") or {}).values() if g.get("weights")]
    if not groups:
        raise ValueError("quantization_config has no config_groups with weights")
    main = next((g for g in groups if "Linear" in (g.get("targets") or ())), groups[0])
    weights, inputs = main["weights"], main.get("input_activations") or {}
    return {
        "weight_bits": weights["num_bits"],
        "activation_bits": inputs.get("num_bits"),
        "group_size": weights.get("group_size"),
        "block": weights.get("block_structure") if _is_pair(weights) else None,
        "unquantized": _unquantized(declared),
        "mixed_bits": {
            target: group["weights"]["num_bits"]
            for group in groups
            if group["weights"]["num_bits"] != weights["num_bits"]
            for target in group.get("targets") or ()
        },
        "kv_cache_dtype": _kv_dtype(declared.get("kv_cache_scheme")),
    }


def _is_pair(weights: Mapping[str, Any]) -> bool:
    block = weights.get("block_structure")
    return isinstance(block, list) and len(block) == 2


def _modelopt(declared: Mapping[str, Any]) -> dict[str, Any]:
    """NVIDIA ModelOpt: `quant_algo`, or compressed-tensors groups, or one algorithm a layer."""
    algorithms = _data()["modelopt"]
    kv_dtype = _kv_dtype(declared.get("kv_cache_scheme") or declared.get("kv_cache_quant_algo"))
    layers = _algorithm_by_layer(declared)
    if layers:
        main = min(layers.values(), key=lambda algorithm: algorithm["weight_bits"])
        mixed = {
            name: algorithm["weight_bits"]
            for name, algorithm in layers.items()
            if algorithm["weight_bits"] != main["weight_bits"]
        }
        fields = {**main, "mixed_bits": mixed}
    elif declared.get("quant_algo") in algorithms:
        fields = dict(algorithms[declared["quant_algo"]])
        if declared.get("group_size"):
            fields["group_size"] = declared["group_size"]
    elif declared.get("config_groups"):
        fields = _compressed_tensors(declared)
    else:
        raise ValueError(f"ModelOpt quant_algo {declared.get('quant_algo')!r} is not known")
    return {**fields, "unquantized": _unquantized(declared), "kv_cache_dtype": kv_dtype}


def _algorithm_by_layer(declared: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Module pattern → algorithm of a ModelOpt export that mixes them."""
    layers = declared.get("quantized_layers") or {}
    return {_module(name): _data()["modelopt"][rule["quant_algo"]] for name, rule in layers.items()}


_READERS = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "mxfp4": _mxfp4,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "modelopt_mixed": _modelopt,
}


def _unquantized(declared: Mapping[str, Any]) -> tuple[str, ...]:
    for key in ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"):
        if declared.get(key):
            return tuple(dict.fromkeys(_module(name) for name in declared[key]))
    return tuple(declared.get("llm_int8_skip_modules") or ())


def _module(pattern: str) -> str:
    """A module pattern with the names most checkpoints use: `model.layers.0.mlp.shared_expert`."""
    for old, new in _data()["module_names"]:
        pattern = re.sub(old, new, pattern)
    return pattern


def _data() -> dict[str, Any]:
    known: dict[str, Any] = documents("compat_matrix", "quantization.yaml")["quantization.yaml"]
    return known


def _kv_dtype(scheme: object) -> str | None:
    """`FP8`, or a compressed-tensors scheme of 8-bit floats → `fp8`."""
    if isinstance(scheme, Mapping):
        scheme = {8: "fp8", 4: "nvfp4"}.get(int(scheme.get("num_bits", 0)))
    return str(scheme).lower() if scheme else None


def _known_method(name: str) -> dict[str, Any]:
    return dict(_data()["methods"].get(name) or {})


def from_flag(flag: str) -> Quantization | None:
    """What `--quantization FLAG` makes of an unquantized checkpoint; None: cannot be told."""
    fields = _known_method(flag)
    if not fields:
        return None
    return Quantization(**with_tuples({"method": flag, **fields, "declared": False}))
