"""Facts from a local config.json, in the spellings that models use."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.model_config import facts_of, read_model_config
from scheduler_reader.knowledge.models import ModelFacts

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 4096,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
}


def read(config: dict[str, Any], **others: Any) -> ModelFacts:
    return facts_of(config, name="m", source="test", **others)


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


def test_a_folder_with_its_index_and_export(tmp_path: Path) -> None:
    folder = tmp_path / "my-llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    index = {"metadata": {"total_size": 123456789}, "weight_map": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    export = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (folder / "hf_quant_config.json").write_text(json.dumps(export))
    facts = read_model_config(folder)
    assert facts == read_model_config(folder / "config.json")
    assert (facts.id, facts.dtype, facts.weight_bytes) == ("my-llama", "float16", 123456789)
    assert (facts.head_dim, facts.kv_heads, facts.tied_embeddings) == (64, 4, False)
    assert facts.is_dense_full_attention
    assert facts.quantization is not None
    assert facts.quantization.kv_cache_dtype == "fp8"


def test_heads_that_are_not_stated_are_multi_head() -> None:
    assert read(without(LLAMA, "num_key_value_heads")).kv_heads == 16


def test_gpt2_spellings() -> None:
    facts = read(
        {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "n_positions": 1024,
            "vocab_size": 50257,
        }
    )
    assert (facts.hidden_size, facts.layers, facts.kv_heads, facts.head_dim) == (768, 12, 12, 64)
    assert (facts.intermediate_size, facts.max_position_embeddings) == (3072, 1024)
    assert facts.tied_embeddings


def test_falcon_multi_query_and_grouped() -> None:
    falcon = without(LLAMA, "num_key_value_heads") | {"model_type": "falcon", "multi_query": True}
    assert read(falcon).kv_heads == 1
    assert read(falcon | {"new_decoder_architecture": True, "num_kv_heads": 8}).kv_heads == 8


def test_a_nested_language_model_takes_the_defaults_of_its_class() -> None:
    facts = read(
        {
            "architectures": ["Gemma3ForConditionalGeneration"],
            "model_type": "gemma3",
            "torch_dtype": "bfloat16",
            "text_config": {
                "model_type": "gemma3_text",
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 12,
                "sliding_window": 1024,
            },
            "vision_config": {"hidden_size": 1152, "patch_size": 14, "model_type": "siglip"},
        }
    )
    assert (facts.attention_heads, facts.kv_heads, facts.head_dim) == (8, 4, 256)
    assert (facts.vocab_size, facts.tied_embeddings, facts.dtype) == (262208, True, "bfloat16")
    assert facts.layer_kinds == (*["sliding"] * 5, "full") * 2
    assert facts.vision == {"hidden_size": 1152, "patch_size": 14}


def test_a_window_counts_only_where_it_is_used() -> None:
    qwen2 = LLAMA | {"model_type": "qwen2", "sliding_window": 131072, "max_window_layers": 6}
    unused = read(qwen2 | {"use_sliding_window": False})
    assert (unused.sliding_window, unused.layer_kinds) == (None, ())
    used = read(qwen2 | {"use_sliding_window": True})
    assert used.layer_kinds == (*["full"] * 6, "sliding", "sliding")
    mistral = read(LLAMA | {"model_type": "mistral", "sliding_window": 4096})
    assert mistral.layer_kinds == ("sliding",) * 8
    assert read(LLAMA | {"model_type": "mistral", "sliding_window": None}).layer_kinds == ()


@pytest.mark.parametrize(
    ("stated", "kinds"),
    [
        ({"model_type": "qwen3_next", "full_attention_interval": 4}, "lllflllf"),
        ({"hybrid_override_pattern": "M-M*EM-M"}, "mnmfnmnm"),
        ({"layer_types": ["sliding_attention", "full_attention"] * 4}, "sfsfsfsf"),
        ({"attn_layer_period": 4, "attn_layer_offset": 2}, "mmfmmmfm"),
        ({"attn_layer_indices": [0, 7]}, "fmmmmmmf"),
        ({"attn_type_list": [0, 0, 0, 1] * 2}, "lllflllf"),
        ({"model_type": "llama4_text", "attention_chunk_size": 8192}, "cccfcccf"),
        ({"model_type": "gpt_oss", "sliding_window": 128}, "sfsfsfsf"),
        ({"model_type": "exaone4", "sliding_window": 64, "sliding_window_pattern": "LLLG"}, "sssfsssf"),
        ({"hybrid_layer_pattern": [0, 1, 1, 1, 0, 1, 1, 1]}, "fsssfsss"),
    ],
)  # fmt: skip
def test_layer_kinds(stated: dict[str, Any], kinds: str) -> None:
    assert "".join(kind[0] for kind in read(LLAMA | stated).layer_kinds) == kinds


def test_mixtral_experts_have_the_plain_size() -> None:
    facts = read(
        LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    )
    assert (facts.experts, facts.experts_per_token, facts.moe_intermediate_size) == (8, 2, 4096)
    assert (facts.shared_expert_intermediate_size, facts.dense_layers) == (None, 0)


def test_deepseek_latent_attention_and_shared_experts() -> None:
    facts = read(
        LLAMA
        | {"model_type": "deepseek_v3", "kv_lora_rank": 512, "qk_rope_head_dim": 64}
        | {"qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": None}
        | {"n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6}
        | {"moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1}
    )
    assert facts.uses_mla
    assert facts.q_lora_rank is None
    assert (facts.experts, facts.dense_layers, facts.moe_layers) == (64, 1, ())
    assert facts.shared_expert_intermediate_size == 2816


def test_experts_in_every_other_layer() -> None:
    facts = read(
        LLAMA
        | {"model_type": "llama4_text", "num_local_experts": 128, "num_experts_per_tok": 1}
        | {"interleave_moe_layer_step": 2, "intermediate_size_mlp": 8192}
    )
    assert facts.moe_layers == (1, 3, 5, 7)
    assert (facts.intermediate_size, facts.moe_intermediate_size) == (8192, 4096)


def test_scaled_positions_in_both_spellings() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    assert read(LLAMA | {"rope_scaling": yarn}).rope_scaling == yarn
    assert read(LLAMA | {"rope_parameters": yarn | {"rope_theta": 1e4}}).rope_scaling is not None
    plain = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}}
    assert read(LLAMA | {"rope_parameters": plain}).rope_scaling is None


def group(bits: int, activations: int | None, **weights: Any) -> dict[str, Any]:
    inputs = {"num_bits": activations} if activations else None
    return {
        "targets": ["Linear"],
        "weights": {"num_bits": bits} | weights,
        "input_activations": inputs,
    }


@pytest.mark.parametrize(
    ("declared", "bits", "activations", "size", "plain"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8, 8, None, ()),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4, None, 128, ()),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8, None, None, ()),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, 4, None, 32, ("lm_head",)),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4, None, 64, ()),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8, None, None, ()),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": group(4, None, group_size=128)},
          "ignore": ["lm_head"]}, 4, None, 128, ("lm_head",)),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": group(8, 8)}}, 8, 8, None, ()),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]},
         4, 4, 16, ("lm_head",)),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 64}, 4, None, 64, ()),
        ({"quant_method": "experts_int8"}, 8, None, None, ()),
    ],
)  # fmt: skip
def test_declared_quantization(
    declared: dict[str, Any],
    bits: float,
    activations: float | None,
    size: int | None,
    plain: tuple[str, ...],
) -> None:
    kind = read(LLAMA | {"quantization_config": declared}).quantization
    assert kind is not None
    assert kind.method == declared["quant_method"]
    assert (kind.weight_bits, kind.activation_bits, kind.group_size) == (bits, activations, size)
    assert kind.unquantized == plain


def test_mixed_precision_keeps_the_bits_of_each_part() -> None:
    layers = {
        "model.language_model.layers.0.linear_attn.out_proj": {"quant_algo": "FP8"},
        "model.language_model.layers.0.mlp.up_proj": {"quant_algo": "W4A16_NVFP4"},
    }
    export = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}}
    kind = read(LLAMA, exported=export).quantization
    assert kind is not None
    assert (kind.method, kind.weight_bits, kind.group_size) == ("modelopt", 4, 16)
    assert kind.mixed_bits == {"model.layers.0.linear_attn.out_proj": 8}


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (without(LLAMA, "num_hidden_layers"), "num_hidden_layers is missing"),
        (without(LLAMA, "vocab_size"), "vocab_size is missing"),
        (without(LLAMA, "architectures"), "architectures is missing"),
        (LLAMA | {"layer_types": ["full_attention"]}, "1 layers are listed, 8 expected"),
        (LLAMA | {"layer_types": ["telepathy"] * 8}, "layer type 'telepathy' is not known"),
        (LLAMA | {"model_type": "falcon_h1"}, "layers of a falcon_h1 model"),
        (LLAMA | {"hidden_size": "wide"}, "hidden_size is no whole number: 'wide'"),
        (LLAMA | {"layer_types": "full"}, "layer_types is no list: 'full'"),
        (LLAMA | {"quantization_config": {"quant_method": "novel"}}, "novel has no bits"),
    ],
)
def test_what_cannot_be_told_is_said(tmp_path: Path, config: Any, complaint: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    with pytest.raises(InputError, match=complaint) as caught:
        read_model_config(tmp_path)
    assert str(caught.value).startswith(f"{file}: ")


@pytest.mark.parametrize("content", ["{", "[]", '"text"'])
def test_a_file_that_is_no_json_object(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match="JSON"):
        read_model_config(tmp_path)


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_model_config(tmp_path)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-4, 64), st.text(max_size=4),
    st.lists(st.integers(0, 1), max_size=3), st.dictionaries(st.text(max_size=3), st.none(), max_size=1),
)  # fmt: skip
STRUCTURES = ("layer_types", "text_config", "rope_scaling", "quantization_config", "num_experts")
STRUCTURES += ("moe_layer_freq", "sliding_window", "kv_lora_rank", "linear_attn_config")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from([*LLAMA, *STRUCTURES, "block_configs"]), VALUES, max_size=3))
def test_any_object_gives_facts_or_one_clear_error(changed: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.json")
        file.write_text(json.dumps(LLAMA | changed))
        try:
            read_model_config(file)
        except InputError as error:
            assert str(error).startswith(f"{file}: ")


def test_recorded_configs_are_read(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(shared / "oracle"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    from model_shapes import MODELS  # type: ignore[import-not-found]

    for name, config in MODELS.items():
        facts = facts_of(config, name=name, source="recorded")
        assert facts.layers == config["num_hidden_layers"]
        assert facts.kv_heads == config["num_key_value_heads"]
