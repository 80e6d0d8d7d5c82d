"""What `parse` shows for people."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from scheduler_reader.parse import parse_text
from scheduler_reader.parse.source import ParsedFile, Problem
from scheduler_reader.report.terminal import parsed
from scheduler_reader.value import Origin

COMPOSE = """services:
  chat:
    image: vllm/vllm-openai:v0.18.0
    shm_size: 8g
    environment:
      VLLM_USE_V1: "1"
      VLLM_API_KEY: topsecret
    command: >-
      --model Qwen/Qwen3-8B --max-model-len 16384
      --no-enable-prefix-caching --tensor-parallel-size ${TP}
      --port 18000 --api-key topsecret --served-model-name a b
"""


def test_files_engines_and_what_is_not_resolved() -> None:
    target = StringIO()
    nothing = ParsedFile(
        "notes.txt", None, problems=(Problem("no vLLM engine was found", Origin("file")),)
    )
    parsed.render([parse_text(COMPOSE, "compose.yaml"), nothing], Console(file=target, width=80))
    assert target.getvalue() == (
        "compose.yaml  compose, 1 engine\n"
        "  9 Qwen/Qwen3-8B  chat  image of vLLM 0.18.0\n"
        "    runs with /dev/shm 8 GiB\n"
        "     9  max_model_len          16,384\n"
        "    10  enable_prefix_caching  off\n"
        "    10  tensor_parallel_size   not resolved: $TP comes from the environment or\n"
        "                               .env, not from the file\n"
        "    11  port                   18000\n"
        "    11  api_key                ***\n"
        '    11  served_model_name      ["a", "b"]\n'
        "     6  VLLM_USE_V1            1\n"
        "     7  VLLM_API_KEY           ***\n"
        "\n"
        "notes.txt  form not recognised, 0 engines\n"
        "  problem  no vLLM engine was found\n"
    )
