"""V0 or V1, and the model runner."""

from __future__ import annotations

import pytest

from scheduler_reader.parse import parse_text
from scheduler_reader.value import Unknown

NGRAM = """--speculative-config '{"method": "ngram", "num_speculative_tokens": 4}'"""
MOE = {
    "architectures": ["MixtralForCausalLM"],
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


@pytest.mark.parametrize(
    ("version", "gpu", "arguments", "env", "engine"),
    [
        ("0.7.3", "h100", "", {}, "V0"),
        ("0.7.3", "h100", "", {"VLLM_USE_V1": "1"}, "V1"),
        ("0.8.5", "h100", "", {}, "V1"),
        ("0.8.5", "h100", "", {"VLLM_USE_V1": "0"}, "V0"),
        ("0.8.5", "h100", NGRAM, {}, "V0"),
        ("0.9.0", "h100", NGRAM, {}, "V1"),
        ("0.8.5", "h100", "-pp 2", {}, "V0"),
        ("0.9.1", "h100", "-pp 2", {}, "V1"),
        ("0.9.1", "h100", "--scheduling-policy priority", {}, "V0"),
        ("0.9.2", "h100", "--scheduling-policy priority", {}, "V1"),
        ("0.10.2", "h100", "--kv-cache-dtype fp8", {}, "V1"),
        ("0.10.2", "l4", "--kv-cache-dtype fp8", {}, "V0"),
        ("0.8.5", "h100", "--dtype float32", {}, "V0"),
        ("0.8.5", "h100", "", {"VLLM_ATTENTION_BACKEND": "XFORMERS"}, "V0"),
        ("0.12.0", "l4", "--kv-cache-dtype fp8", {"VLLM_USE_V1": "0"}, "V1"),
    ],
)
def test_engine(resolved, version, gpu, arguments, env, engine):
    assert resolved(arguments, version=version, gpu=gpu, env=env).engine == engine


@pytest.mark.parametrize(
    ("version", "config", "arguments", "env", "runner"),
    [
        ("0.21.0", {}, "", {}, "V1"),
        ("0.21.0", {}, "", {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "V2"),
        ("0.22.0", {}, "", {}, "V1"),
        ("0.22.0", {"architectures": ["Qwen3ForCausalLM"]}, "", {}, "V2"),
        ("0.23.0", {}, "", {}, "V2"),
        ("0.23.0", {}, "--quantization fp8", {}, "V1"),
        ("0.24.0", {}, "--quantization fp8", {}, "V2"),
        ("0.28.0", MOE, "", {}, "V1"),
        ("0.29.0", MOE, "", {}, "V2"),
        ("0.31.0", {}, NGRAM, {}, "V1"),
        ("0.33.0", {}, NGRAM, {}, "V2"),
        ("0.33.0", {}, "", {"VLLM_USE_V2_MODEL_RUNNER": "0"}, "V1"),
    ],
)
def test_model_runner(resolved, version, config, arguments, env, runner):
    engine = resolved(arguments, version=version, config=config, env=env)
    assert engine.model_runner.value == runner


def test_classes_that_only_v0_has(resolved):
    jamba = {"architectures": ["JambaForCausalLM"]}
    assert resolved(version="0.9.2", config=jamba).engine == "V0"
    assert resolved(version="0.10.1", config=jamba).engine == "V1"


def test_0_11_0_has_only_v1_and_a_fall_back_costs_its_graphs(resolved):
    engine = resolved("--max-num-partial-prefills 4", version="0.11.0")
    assert (engine.engine, engine.get("cudagraph_mode")) == ("V1", "NONE")
    assert resolved(version="0.11.0", env={"VLLM_USE_V1": "0"}).engine == "V1"


@pytest.mark.parametrize(
    ("version", "arguments", "env", "unsupported"),
    [
        ("0.8.5", "--num-scheduler-steps 8", {}, None),
        ("0.8.5", "--num-scheduler-steps 8", {"VLLM_USE_V1": "1"}, "num_scheduler_steps=8"),
        ("0.8.5", "--num-scheduler-steps 8", {"VLLM_USE_V1": "0"}, None),
        ("0.8.2", "--enable-lora", {"VLLM_USE_V1": "1"}, None),  # tried out: a warning
        ("0.8.5", NGRAM, {"VLLM_USE_V1": "1"}, None),
        (
            "0.11.0",
            "--max-num-partial-prefills 2",
            {"VLLM_USE_V1": "1"},
            "max_num_partial_prefills=2",
        ),
        ("0.18.0", "--num-scheduler-steps 8", {"VLLM_USE_V1": "1"}, None),
        ("0.24.0", NGRAM, {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "speculation by ngram"),
        ("0.24.0", NGRAM, {}, None),
        ("0.33.0", NGRAM, {"VLLM_USE_V2_MODEL_RUNNER": "1"}, None),
    ],
)
def test_what_a_forced_engine_does_not_support(resolved, version, arguments, env, unsupported):
    engine = resolved(arguments, version=version, gpu="h100", env=env)
    assert engine.unsupported.value == unsupported


@pytest.mark.parametrize("value", ["$X", "${X:-1}", "$(X)", "{{ runner }}"])
def test_a_variable_that_is_left_unresolved_switches_nothing(value, resolved):
    engine = resolved(version="0.33.0", env={"VLLM_USE_V2_MODEL_RUNNER": value})
    runner = engine.model_runner
    assert isinstance(runner, Unknown)
    assert runner.reason == f"VLLM_USE_V2_MODEL_RUNNER={value} is not resolved where it stands"


def test_an_unknown_variable_is_named_with_its_reason():
    script = "VLLM_USE_V1=$Y vllm serve Qwen/Qwen3-0.6B\n"
    (engine,) = parse_text(script, "serve.sh").engines
    assert engine.variable("VLLM_USE_V1") == Unknown(
        "VLLM_USE_V1: $Y is not set in the file", engine.env["VLLM_USE_V1"].origin
    )
    assert engine.variable("VLLM_PORT") is None
