"""dtype, quantization method and KV-cache dtype."""

from __future__ import annotations

import pytest

AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": False}


@pytest.mark.parametrize(
    ("version", "gpu", "checkpoint", "arguments", "dtype"),
    [
        ("0.18.0", "h100", "bfloat16", "", "bfloat16"),
        ("0.18.0", "h100", "bfloat16", "--dtype half", "float16"),
        ("0.18.0", "t4", "bfloat16", "", "float16"),  # no bfloat16 before Ampere
        ("0.8.5", "h100", "float32", "", "float16"),
        ("0.9.0", "h100", "float32", "", "bfloat16"),
    ],
)
def test_dtype(resolved, version, gpu, checkpoint, arguments, dtype):
    engine = resolved(arguments, version=version, gpu=gpu, config={"torch_dtype": checkpoint})
    assert engine.get("dtype") == dtype


def test_pooling_models_prefer_half_precision(resolved):
    arguments = "--runner pooling"
    engine = resolved(arguments, version="0.18.0", config={"torch_dtype": "float32"})
    assert engine.get("dtype") == "float16"


@pytest.mark.parametrize(
    ("version", "gpu", "scheme", "arguments", "method"),
    [
        ("0.18.0", "h100", AWQ, "", "awq_marlin"),
        ("0.18.0", "h100", AWQ, "--quantization awq", "awq"),  # asked for, so kept
        ("0.10.2", "t4", AWQ, "", "awq"),  # no Marlin kernels before Ampere yet
        ("0.24.0", "h100", AWQ, "--quantization awq", "auto_awq"),
        ("0.18.0", "h100", GPTQ, "", "gptq_marlin"),
        ("0.18.0", "h100", {**GPTQ, "sym": False}, "", "gptq"),
        ("0.24.0", "h100", GPTQ, "", "auto_gptq"),
    ],
)
def test_checkpoint_methods_are_renamed(resolved, version, gpu, scheme, arguments, method):
    engine = resolved(arguments, version=version, gpu=gpu, config={"quantization_config": scheme})
    assert engine.get("quantization") == method


def test_quantization_while_loading(resolved):
    assert resolved("--quantization fp8").get("quantization") == "fp8"
    assert resolved().get("quantization") is None


def test_a_checkpoint_that_declares_its_kv_dtype_selects_it_from_0_14_on(resolved):
    scheme = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
    config = {"quantization_config": scheme}
    assert resolved(version="0.13.0", config=config).get("kv_cache_dtype") == "auto"
    assert resolved(version="0.14.0", config=config).get("kv_cache_dtype") == "fp8_e4m3"
