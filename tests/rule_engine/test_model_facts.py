"""Facts of the model and of speculation, for known models, and for one that nobody knows."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine import Facts
from scheduler_reader.rule_engine.known_facts import model as model_facts
from scheduler_reader.rule_engine.vocabulary import computed_facts
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

UNKNOWN = Unknown("nothing is predicted")
NAMED = {"model_id"}  # what the command line itself says


def facts_of(command: str, version: str = "0.18.0") -> Facts:
    (parsed,) = parse_command(shlex.split(f"vllm serve {command}")).engines
    engine = resolve(parsed, ResolveOptions(vllm_version=version, gpu="h100"))
    plan = plan_capacity(engine, DEFAULT_WORKLOAD)
    return Facts.of(engine, plan, UNKNOWN, UNKNOWN, DEFAULT_WORKLOAD, Slo())


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (
            "meta-llama/Llama-3.1-8B-Instruct",
            {
                "model_type": "llama",
                "layers": 32,
                "attention_heads": 32,
                "kv_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 128256,
                "rope_type": "llama3",
                "derived_max_model_len": 131072,
                "is_moe": False,
                "experts": 0,
                "moe_intermediate_size": None,
                "uses_mla": False,
                "is_hybrid": False,
                "has_sliding_window": False,
                "is_all_sliding": False,
                "has_chunked_attention": False,
                "is_multimodal": False,
                "vision_heads": None,
                "is_pooling": False,
                "is_encoder_decoder": False,
                "mtp_layers": 0,
                "checkpoint_quantization": None,
                "weight_bits": 16.0,
                "weights_are_fp8": False,
                "quantization_block_size": None,
                "checkpoint_kv_cache_dtype": None,
            },
        ),
        (
            "deepseek-ai/DeepSeek-V3",
            {
                "is_moe": True,
                "experts": 256,
                "moe_intermediate_size": 2048,
                "uses_mla": True,
                "mtp_layers": 1,
                "checkpoint_quantization": "fp8",
                "weight_bits": 8,
                "weights_are_fp8": True,
                "quantization_block_size": 128,
            },
        ),
        (
            "openai/gpt-oss-20b",
            {
                "has_sliding_window": True,
                "is_all_sliding": False,
                "checkpoint_quantization": "mxfp4",
            },
        ),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"is_multimodal": True, "vision_heads": 16}),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"is_hybrid": True, "experts": 512}),
        ("openai/whisper-large-v3", {"is_encoder_decoder": True}),
    ],
)
def test_facts_of_a_known_model(model: str, values: dict[str, Any]) -> None:
    facts = facts_of(model)
    assert {name: facts.value(name) for name in values} == values


def test_of_a_model_that_nobody_knows_the_facts_are_unknown_with_a_reason() -> None:
    facts = facts_of("acme/no-such-model")
    names = {
        name
        for name, fact in computed_facts().items()
        if fact.compute is not None and fact.compute.__module__ == model_facts.__name__
    }
    assert {"layers", "weight_bits", "mtp_layers"} <= names
    for name in names - NAMED:
        value = facts.value(name)
        assert isinstance(value, Unknown) and value.reason, name


@pytest.mark.parametrize("command", ["acme/no-such-model", "$MODEL -tp $SIZE -dp $SIZE -dcp 2"])
def test_every_fact_can_be_asked_of_an_engine_of_which_little_is_known(command: str) -> None:
    facts = facts_of(command)
    for name in computed_facts():
        facts.value(name)  # a value, None or Unknown; never an error


def config(text: str) -> str:
    return f"Qwen/Qwen3-8B --speculative-config {shlex.quote(text)}"


@pytest.mark.parametrize(
    ("version", "command", "values"),
    [
        (
            "0.18.0",
            "Qwen/Qwen3-8B",
            {"uses_speculation": False, "speculative_method": None, "speculative_model": None},
        ),
        (
            "0.18.0",
            config('{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 5, "prompt_lookup_min": 2}'),
            {
                "uses_speculation": True,
                "speculative_method": "ngram",
                "speculative_model": None,
                "num_speculative_tokens": 4,
                "prompt_lookup_max": 5,
                "prompt_lookup_min": 2,
                "draft_tensor_parallel_size": None,
            },
        ),
        (
            "0.18.0",
            config('{"model": "Qwen/Qwen3-0.6B", "draft_tensor_parallel_size": 1}'),
            {
                "speculative_model": "Qwen/Qwen3-0.6B",
                "draft_vocab_size": 151936,
                "draft_tensor_parallel_size": 1,
                "num_speculative_tokens": None,
            },
        ),
        ("0.18.0", config('{"model": "x/EAGLE3-y"}'), {"speculative_method": "eagle3"}),
        ("0.18.0", config('{"model": "x/EAGLE-y"}'), {"speculative_method": "eagle"}),
        ("0.18.0", config('{"num_speculative_tokens": 2}'), {"num_speculative_tokens": 2}),
        ("0.16.0", config('{"model": "Qwen/Qwen3-0.6B"}'), {"speculative_method": "draft_model"}),
        (
            "0.7.3",
            "deepseek-ai/DeepSeek-R1 --num-speculative-tokens 1",
            {"uses_speculation": True, "speculative_method": "mtp", "speculative_model": None},
        ),
        (
            "0.6.3",
            "Qwen/Qwen2.5-7B-Instruct --speculative-model [ngram] --num-speculative-tokens 3 --ngram-prompt-lookup-max 4",
            {
                "uses_speculation": True,
                "speculative_method": "ngram",
                "num_speculative_tokens": 3,
                "prompt_lookup_max": 4,
            },
        ),
    ],
)  # fmt: skip
def test_facts_of_speculation(version: str, command: str, values: dict[str, Any]) -> None:
    facts = facts_of(command, version)
    assert {name: facts.value(name) for name in values} == values


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ('{"model": "acme/draft"}', "speculative_method", "the method is not written"),
        ('{"model": "acme/draft"}', "draft_vocab_size", "acme/draft"),
        ('{"num_speculative_tokens": "four"}', "num_speculative_tokens", "is no number: 'four'"),
        ('{"method": "ngram"}', "acceptance_length", "nothing is predicted"),
    ],
)
def test_what_is_not_known_of_speculation_has_a_reason(text: str, name: str, reason: str) -> None:
    value = facts_of(config(text)).value(name)
    assert isinstance(value, Unknown)
    assert reason in value.reason
