"""max_model_len: derivation, RoPE scaling, human integers, auto."""

from __future__ import annotations

import pytest

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [("", 65536), ("--max-model-len 16k", 16000), ("--max-model-len 16K", 16384)],
)
def test_derived_or_as_written(resolved, arguments, tokens):
    assert resolved(arguments, version="0.18.0").get("max_model_len") == tokens


def test_auto_gives_the_upper_end(resolved):
    engine = resolved("--max-model-len auto", version="0.18.0")
    assert engine.get("max_model_len") == 65536
    assert engine.fits_length_to_memory
    assert not resolved("--max-model-len 4096", version="0.18.0").fits_length_to_memory


def test_linear_scaling_multiplies_and_llama3_does_not(resolved):
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    assert resolved(config=linear).get("max_model_len") == 131072
    llama3 = {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}
    assert resolved(config=llama3).get("max_model_len") == 65536


def test_yarn_starts_at_the_original_length_through_0_29(resolved):
    config = {"max_position_embeddings": 40000, "rope_scaling": YARN}
    assert resolved(version="0.29.0", config=config).get("max_model_len") == 131072
    assert resolved(version="0.30.0", config=config).get("max_model_len") == 40000


@pytest.mark.parametrize(
    ("version", "key", "factor"),
    [
        ("0.11.0", "rope_scaling", 4),
        ("0.18.0", "rope_scaling", 1),  # taken, and then read by nobody
        ("0.18.0", "rope_parameters", 4),
    ],
)
def test_rope_overrides(resolved, version, key, factor):
    override = f"""--hf-overrides '{{"{key}": {{"rope_type": "linear", "factor": 4.0}}}}'"""
    assert resolved(override, version=version).get("max_model_len") == factor * 65536


def test_disabled_window_caps_the_length(resolved):
    config = {"architectures": ["MistralForCausalLM"], "sliding_window": 4096}
    assert resolved(config=config).get("max_model_len") == 65536
    assert resolved("--disable-sliding-window", config=config).get("max_model_len") == 4096


def test_longrope_starts_at_its_original_length(resolved):
    config = {
        "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [2.0]},
        "original_max_position_embeddings": 4096,
    }
    assert resolved(version="0.11.0", config=config).get("max_model_len") == 65536
    assert resolved(version="0.18.0", config=config).get("max_model_len") == 4096
