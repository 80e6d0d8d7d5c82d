"""The model catalogue: ids, re-uploads, quantizations by name, and what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.data import documents
from scheduler_reader.knowledge.models import FoundModel, find_model
from scheduler_reader.value import Unknown


def found(text: str, flag: str | None = None) -> FoundModel:
    model = find_model(text, flag)
    assert isinstance(model, FoundModel), model
    return model


@pytest.mark.parametrize("path", documents("compat_matrix", "models/"))
def test_every_document_is_found_by_its_id_and_aliases(path: str) -> None:
    document = documents("compat_matrix", "models/")[path]
    for name in (document["id"], *document.get("aliases", ())):
        assert found(name).facts.id == document["id"]
    facts = found(document["id"]).facts
    assert found(document["id"]).assumption is None
    assert len(facts.layer_kinds) in (0, facts.layers)
    assert facts.attention_heads % facts.kv_heads == 0
    assert facts.experts >= facts.experts_per_token
    assert facts.source


def test_a_plain_model() -> None:
    facts = found("meta-llama/Llama-3.1-8B-Instruct").facts
    assert (facts.layers, facts.kv_heads, facts.head_dim) == (32, 8, 128)
    assert facts.is_dense_full_attention
    assert facts.quantization is None


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("unsloth/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Qwen3-8B", "Qwen/Qwen3-8B"),
        ("gemma-3-27b", "google/gemma-3-27b-it"),
        ("./Qwen3-8B", "Qwen/Qwen3-8B"),
        ("/models/Llama-3.1-8B-Instruct/", "meta-llama/Llama-3.1-8B-Instruct"),
        ("/data/hub/models--Qwen--Qwen3-8B/snapshots/9c925d64d72725edaf899c6c", "Qwen/Qwen3-8B"),
        ("s3://bucket/qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
def test_a_copy_is_read_as_the_model_and_says_so(written: str, model: str) -> None:
    copy = found(written)
    assert copy.facts.id == model
    assert copy.assumption == f"{written} is read as {model}"


@pytest.mark.parametrize(
    ("written", "model", "method", "bits", "activations", "group"),
    [
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-30B-A3B-Instruct-2507", "fp8", 8, 8, None),
        ("RedHatAI/Qwen3-8B-FP8-dynamic", "Qwen/Qwen3-8B", "compressed-tensors", 8, 8, None),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "meta-llama/Llama-3.1-70B-Instruct", "compressed-tensors", 4, None, 128),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "meta-llama/Llama-3.1-8B-Instruct", "compressed-tensors", 8, 8, None),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-7B-Instruct", "awq", 4, None, 128),
        ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "meta-llama/Llama-3.1-8B-Instruct", "awq", 4, None, 128),
        ("Qwen/Qwen2.5-14B-Instruct-GPTQ-Int8", "Qwen/Qwen2.5-14B-Instruct", "gptq", 8, None, 128),
        ("TheBloke/Mistral-7B-Instruct-v0.2-GPTQ", "mistralai/Mistral-7B-Instruct-v0.2", "gptq", 4, None, 128),
        ("nvidia/Llama-3.3-70B-Instruct-FP4", "meta-llama/Llama-3.3-70B-Instruct", "modelopt", 4, 4, 16),
        ("unsloth/Llama-3.2-3B-Instruct-unsloth-bnb-4bit", "meta-llama/Llama-3.2-3B", "bitsandbytes", 4, None, 64),
        ("unsloth/Qwen3-8B-GGUF:Q4_K_M", "Qwen/Qwen3-8B", "gguf", 4.85, None, None),
    ],
)  # fmt: skip
def test_a_suffix_names_a_quantization(
    written: str, model: str, method: str, bits: float, activations: float | None, group: int | None
) -> None:
    copy = found(written)
    assert copy.facts.id == model
    kind = copy.facts.quantization
    assert kind is not None
    assert (kind.method, kind.weight_bits) == (method, bits)
    assert (kind.activation_bits, kind.group_size) == (activations, group)
    assert copy.assumption is not None
    assert (
        f"{written} is read as {model} with the weights its name says: {method}" in copy.assumption
    )


def test_the_same_suffix_means_what_its_owner_publishes() -> None:
    block = found("Qwen/Qwen3-14B-FP8").facts.quantization
    other = found("RedHatAI/Qwen3-14B-FP8").facts.quantization
    assert block is not None
    assert other is not None
    assert (block.block, other.block) == ((128, 128), None)


def test_a_published_quantization_is_not_an_assumption() -> None:
    model = found("nvidia/Qwen3.6-27B-NVFP4")
    assert model.assumption is None
    assert model.facts.quantization is not None
    assert model.facts.quantization.mixed_bits["model.layers.*.self_attn.q_proj"] == 8
    assert model.facts.layers == found("Qwen/Qwen3.6-27B").facts.layers


def test_bf16_copies_of_a_quantized_model_are_not_quantized() -> None:
    assert found("openai/gpt-oss-20b").facts.quantization is not None
    assert found("unsloth/gpt-oss-20b-BF16").facts.quantization is None


def test_the_flag_quantizes_what_is_not_quantized() -> None:
    online = found("Qwen/Qwen3-8B", "fp8").facts.quantization
    assert online is not None
    assert (online.method, online.weight_bits) == ("fp8", 8)
    kept = found("Qwen/Qwen2.5-7B-Instruct-AWQ", "awq_marlin").facts.quantization
    assert kept is not None
    assert kept.method == "awq"
    assert find_model("Qwen/Qwen3-8B", "compressed-tensors") == Unknown(
        "how --quantization compressed-tensors stores Qwen/Qwen3-8B is not known"
    )


def test_an_unknown_id_names_the_nearest() -> None:
    model = find_model("meta-llama/Llama-3.1-9B-Instruct")
    assert isinstance(model, Unknown)
    assert "nearest: meta-llama/Llama-3.1-8B-Instruct" in model.reason


@pytest.mark.parametrize("text", ["/mnt/models", "my-org/in-house-7b", "/models/in-house-AWQ", ""])
def test_nothing_is_guessed(text: str) -> None:
    assert isinstance(find_model(text), Unknown)


def test_a_gguf_without_its_type_is_unknown() -> None:
    model = find_model("unsloth/Qwen3-8B-GGUF")
    assert isinstance(model, Unknown)
    assert "quantization type" in model.reason


@settings(deadline=None, max_examples=40)
@given(
    st.text("/.~-_: aQ3", max_size=10), st.sampled_from(["", "Qwen3-8B", "-FP8", "models--a--b"])
)
def test_any_text_is_answered(around: str, middle: str) -> None:
    assert isinstance(find_model(around + middle), FoundModel | Unknown)
    assert isinstance(find_model(middle + around), FoundModel | Unknown)
