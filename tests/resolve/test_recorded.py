"""Settings as vLLM's own configuration code resolves them, on recorded command lines."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.value import Known, Origin, Unknown

SHARED = Path(os.environ.get("SCHED_READER_SHARED", Path(__file__).parents[3] / "shared"))
ORACLE = SHARED / "oracle"
LINE = Origin("command line")
NAMES = {
    "scheduler_config": {"policy": "scheduling_policy"},
    "cache_config": {"cache_dtype": "kv_cache_dtype"},
    "model_config": {},
    "parallel_config": {},
    "compilation_config": {},
}
COMPARED = {
    "max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "async_scheduling",
    "long_prefill_token_threshold", "scheduler_reserve_full_isl", "watermark", "policy",
    "prefill_schedule_interval", "max_num_active_seqs", "block_size", "gpu_memory_utilization",
    "cache_dtype", "enable_prefix_caching", "kv_cache_memory_bytes", "num_gpu_blocks_override",
    "dtype", "max_model_len", "quantization", "enforce_eager", "tensor_parallel_size",
    "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel", "cudagraph_mode",
    "cudagraph_capture_sizes", "max_cudagraph_capture_size",
}  # fmt: skip
SETTLED_AFTER_THE_RECORD = {"deepseek-mla", "qwen3-next"}  # block size: by kernel and state page

RECORDS = sorted((ORACLE / "resolved").glob("*.json"))


@pytest.fixture(scope="module")
def model_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, config in runpy.run_path(str(ORACLE / "model_shapes.py"))["MODELS"].items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.skipif(not RECORDS, reason="no recorded configurations beside the checkout")
@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_recorded_settings(record: Path, model_folders: Path) -> None:
    content = json.loads(record.read_text())
    wrong = [
        f"{row['name']}: {difference}"
        for row in content["rows"]
        if "resolved" in row
        for difference in differences(row, content["version"], model_folders)
    ]
    assert not wrong


def differences(row: dict[str, Any], version: str, models: Path) -> list[str]:
    words = [row["model"], *row["args"]]
    parsed = ParsedEngine(
        "command line",
        LINE,
        words=tuple(Word(word, LINE) for word in words),
        env={name: Known(value, LINE) for name, value in row["env"].items()},
    )
    engine = resolve(
        parsed,
        ResolveOptions(
            vllm_version=version,
            gpu=row["gpu"],
            gpu_count=8,
            offline=row["context"] == "offline",
            model_config=models / row["model"],
        ),
    )
    found = []
    for part, renamed in NAMES.items():
        for name, expected in row["resolved"].get(part, {}).items():
            if name not in COMPARED:
                continue
            if name == "block_size" and row["model"] in SETTLED_AFTER_THE_RECORD:
                continue
            value = engine.value(renamed.get(name, name))
            actual = value.reason if isinstance(value, Unknown) else value.value
            if actual != expected:
                found.append(f"{name} {actual!r}, recorded {expected!r}")
    return found
