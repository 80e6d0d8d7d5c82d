"""Prefix caching by model shape, and the block size."""

from __future__ import annotations

import pytest

MLA = {
    "architectures": ["DeepseekV2ForCausalLM"],
    "model_type": "deepseek_v2",
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
HYBRID = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "layer_types": ["linear_attention"] * 12 + ["full_attention"] * 4,
    "linear_num_key_heads": 8,
    "linear_num_value_heads": 16,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}


@pytest.mark.parametrize(
    ("version", "config", "arguments", "value"),
    [
        ("0.7.3", {}, "", None),  # V0, nobody asks
        ("0.18.0", {}, "", True),
        ("0.18.0", {}, "--no-enable-prefix-caching", False),
        ("0.10.2", HYBRID, "--enable-prefix-caching", False),
        ("0.14.1", HYBRID, "--enable-prefix-caching", False),
        ("0.18.0", HYBRID, "--enable-prefix-caching", True),
        ("0.27.1", HYBRID, "", False),
        ("0.28.0", HYBRID, "", True),
    ],
)
def test_prefix_caching(resolved, version, config, arguments, value):
    engine = resolved(arguments, version=version, config=config)
    assert engine.get("enable_prefix_caching") is value


@pytest.mark.parametrize(
    ("version", "gpu", "config", "arguments", "tokens"),
    [
        ("0.18.0", "h100", {}, "", 16),
        ("0.18.0", "h100", {}, "--block-size 32", 32),
        ("0.10.2", "h100", MLA, "", 64),
        ("0.10.2", "h100", MLA, "--block-size 128", 64),
        ("0.11.2", "h100", MLA, "--block-size 128", 128),
        ("0.10.2", "b200", MLA, "", 128),
        ("0.10.2", "a100", MLA, "", 16),
        ("0.24.0", "b200", MLA, "", 32),
        ("0.24.0", "b200", MLA, "--block-size 64", 64),
        ("0.24.0", "h100", MLA, "", 16),
        ("0.24.0", "h100", MLA, "--kv-cache-dtype fp8", 64),
    ],
)
def test_block_size(resolved, version, gpu, config, arguments, tokens):
    engine = resolved(arguments, version=version, gpu=gpu, config=config)
    assert engine.get("block_size") == tokens


def test_changed_sizes_say_why(resolved):
    engine = resolved("--block-size 16", version="0.10.2", config=MLA)
    assert "latent-attention kernel" in str(engine.value("block_size").origin)
    assert engine.is_set("block_size")
