"""One command line resolved: `resolved("--max-num-seqs 64", version="0.18.0")`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin

LINE = Origin("command line")

# A plain decoder of our own; tests change single entries.
DECODER: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 32000,
    "max_position_embeddings": 65536,
    "torch_dtype": "bfloat16",
}

Resolve = Callable[..., ResolvedEngine]


@pytest.fixture
def resolved(tmp_path: Path) -> Resolve:
    """Resolve arguments of `vllm serve` for a model whose config.json is DECODER with changes."""

    def run(
        arguments: str = "",
        *,
        version: str = "0.33.0",
        gpu: str = "h100",
        config: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        unknown: Mapping[str, str] | None = None,
        offline: bool = False,
    ) -> ResolvedEngine:
        file = tmp_path / "config.json"
        file.write_text(json.dumps({**DECODER, **(config or {})}))
        reasons = unknown or {}
        words = (Word(text, LINE, reasons.get(text)) for text in shlex.split(arguments))
        parsed = ParsedEngine(
            "command line",
            LINE,
            words=(Word("a-model", LINE), *words),
            env={name: Known(value, LINE) for name, value in (env or {}).items()},
        )
        return resolve(
            parsed,
            ResolveOptions(vllm_version=version, gpu=gpu, offline=offline, model_config=file),
        )

    return run
