"""Facts that are worked out from several settings, on command lines of one release each."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine import Facts
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
NEMOTRON = "nvidia/NVIDIA-Nemotron-Nano-9B-v2"
QWEN3 = "Qwen/Qwen3-8B"
MTP = "--speculative-config.method mtp --speculative-config.num_speculative_tokens 2"
NGRAM = MTP.replace("mtp", "ngram")


@pytest.mark.parametrize(
    ("version", "command", "fact", "value"),
    [
        ("0.14.1", f"{NEXT} --enable-prefix-caching", "state_cache_mode", None),  # no modes yet
        ("0.18.0", f"{NEXT} --enable-prefix-caching", "state_cache_mode", "align"),
        ("0.18.0", NEXT, "state_cache_mode", "none"),
        ("0.28.0", NEXT, "state_cache_mode", "align"),  # prefix caching is on by default
        ("0.18.0", QWEN3, "state_cache_mode", None),
        ("0.18.0", f"{NEMOTRON} --enable-prefix-caching", "state_cache_mode", "all"),
        ("0.28.0", f"{NEMOTRON} --enable-prefix-caching", "state_cache_mode", "align"),
        (
            "0.28.0",
            f"{NEMOTRON} --enable-prefix-caching --mamba-cache-mode all",
            "state_cache_mode",
            "all",
        ),
        ("0.24.0", f"{QWEN3} --device-ids 0,0", "device_ids_mistake", "duplicates"),
        ("0.24.0", f"{QWEN3} --device-ids 0,GPU-1", "device_ids_mistake", "numbers beside UUIDs"),
        ("0.24.0", f"{QWEN3} --device-ids 0,1", "device_ids_mistake", None),
        ("0.24.0", QWEN3, "balancing_modes", 0),
        ("0.24.0", f"{QWEN3} -dp 2 --data-parallel-rank 0", "balancing_modes", 1),
        (
            "0.24.0",
            f"{QWEN3} -dp 2 --data-parallel-rank 0 --data-parallel-start-rank 0",
            "balancing_modes",
            2,
        ),
        ("0.18.0", f"{QWEN3} --cudagraph-capture-sizes 1 64 8", "largest_stated_capture", 64),
        (
            "0.18.0",
            f"{QWEN3} --compilation-config.cudagraph_capture_sizes=[4,2]",
            "largest_stated_capture",
            4,
        ),
        ("0.18.0", QWEN3, "largest_stated_capture", None),
        ("0.8.5", "Qwen/Qwen3-30B-A3B", "lacks_lora", True),
        ("0.18.0", "Qwen/Qwen3-30B-A3B", "lacks_lora", False),
        ("0.18.0", "openai/whisper-large-v3", "lacks_pipeline_parallel", True),
        ("0.18.0", QWEN3, "lacks_pipeline_parallel", False),
        ("0.18.0", f"{NEXT} {MTP}", "draft_lacks_pipeline_parallel", True),
        ("0.13.0", f"{NEXT} {MTP}", "draft_lacks_pipeline_parallel", False),
        ("0.30.0", f"{NEXT} {MTP}", "draft_lacks_pipeline_parallel", False),
        ("0.18.0", f"{QWEN3} {NGRAM}", "draft_lacks_pipeline_parallel", False),
        ("0.18.0", NEXT, "draft_lacks_pipeline_parallel", False),
        ("0.18.0", QWEN3, "layer_partition_mistake", None),
        ("0.18.0", "google/gemma-4-31B-it", "largest_head_size", 512),
        ("0.18.0", QWEN3, "largest_head_size", 128),
        ("0.18.0", QWEN3, "lacks_tool_call_parser", False),
        ("0.18.0", f"{QWEN3} --tool-call-parser hermes", "lacks_tool_call_parser", False),
        ("0.18.0", f"{QWEN3} --tool-call-parser gemma4", "lacks_tool_call_parser", True),
        ("0.19.0", f"{QWEN3} --tool-call-parser gemma4", "lacks_tool_call_parser", False),
        ("0.18.0", f"{QWEN3} --tool-call-parser of_nobody", "lacks_tool_call_parser", True),
        ("0.10.1", f"{QWEN3} --reasoning-parser glm45", "lacks_reasoning_parser", False),
        ("0.10.0", f"{QWEN3} --reasoning-parser glm45", "lacks_reasoning_parser", True),
    ],
)
def test_fact(version: str, command: str, fact: str, value: Any) -> None:
    (parsed,) = parse_command(shlex.split(f"vllm serve {command}")).engines
    engine = resolve(parsed, ResolveOptions(vllm_version=version, gpu="h100"))
    plan, nothing = plan_capacity(engine, DEFAULT_WORKLOAD), Unknown("nothing is predicted")
    facts = Facts.of(engine, plan, nothing, nothing, DEFAULT_WORKLOAD, Slo())
    assert facts.value(fact) == value


@pytest.mark.parametrize(
    ("written", "stages", "mistake"),
    [
        ("18,18", 2, None),
        (" 16, 20", 2, None),
        ("18,18", 1, "2 numbers for 1 pipeline stages"),
        ("18,17", 2, "35 of 36 layers"),
        ("", 2, "no list of numbers"),
        ("18,x", 2, "no list of numbers"),
    ],
)
def test_layers_dealt_to_stages(written: str, stages: int, mistake: str | None) -> None:
    words = [f"VLLM_PP_LAYER_PARTITION={written}", "vllm", "serve", QWEN3, "-pp", str(stages)]
    engine = resolve(parse_command(words).engines[0], ResolveOptions(vllm_version="0.18.0"))
    nothing = Unknown("nothing is predicted")
    facts = Facts.of(engine, nothing, nothing, nothing, DEFAULT_WORKLOAD, Slo())
    assert facts.value("layer_partition_mistake") == mistake


def test_a_parser_that_left_is_not_told_of() -> None:
    command = f"vllm serve {QWEN3} --tool-call-parser minimax"
    engine = resolve(parse_command(command.split()).engines[0], ResolveOptions("0.24.0"))
    nothing = Unknown("nothing is predicted")
    facts = Facts.of(engine, nothing, nothing, nothing, DEFAULT_WORKLOAD, Slo())
    assert isinstance(facts.value("lacks_tool_call_parser"), Unknown)
