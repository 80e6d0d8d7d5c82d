"""Two runs print the same bytes, whatever order Python gives its sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AT = ("--vllm-version", "0.18.0", "--gpu", "h100")
LOAD = ("--isl", "2000", "--osl", "100", "--concurrency", "16")


def printed(hash_seed: int, *arguments: str) -> tuple[bytes, bytes]:
    ran = subprocess.run(
        [sys.executable, "-m", "scheduler_reader", *arguments],
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        check=False,
    )
    assert ran.returncode in {0, 1}, ran.stderr
    return ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("diagnose", "llama-3.1-8b-long-prompts.yaml", *AT, *LOAD, "--format", "json"),
        ("diagnose", "llama-3.3-70b-fp8-1xh100.yaml", *AT, "--format", "html"),
        ("check", ".", *AT, "--format", "sarif"),
        ("check", ".", *AT, "--format", "text"),
        ("parse", "upgraded-from-0.9.yaml", "--format", "json"),
        ("simulate", "llama-3.1-8b-chat.yaml", *AT, *LOAD, "--format", "json"),
        ("tune", "llama-3.1-8b-long-prompts.yaml", *AT, "--format", "json"),
        ("upgrade", "upgraded-from-0.9.yaml", "--from", "0.9.0", "--to", "0.18.0"),
        ("compat", "--vllm-version", "0.18.0", "--format", "json"),
        ("skill", "llama-3.1-8b-chat.yaml", *AT, "--output", "-"),
        ("schema", "--vllm-version", "0.18.0"),
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1]}",
)
def test_two_runs_print_the_same_bytes(arguments: tuple[str, ...]) -> None:
    first = printed(1, *arguments)
    assert first[0]
    assert printed(2, *arguments) == first
