"""Two runs print the same bytes, whatever order Python gives its sets, and however it adds up."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from math import fsum
from operator import add
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AT = ("--vllm-version", "0.18.0", "--gpu", "h100")
NGRAM = '--speculative-config={"method":"ngram","num_speculative_tokens":3}'
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


def plain_sum(values: Iterable[Any], start: Any = 0) -> Any:
    """`sum` of Python 3.11: each addition is rounded."""
    return reduce(add, values, start)


def exact_sum(values: Iterable[Any], start: Any = 0) -> Any:
    """As `sum` has it since Python 3.12: the roundings of floats are made good in the end."""
    listed = [start, *values]
    return fsum(listed) if any(isinstance(each, float) for each in listed) else reduce(add, listed)


@pytest.mark.parametrize(
    "arguments",
    [
        ("diagnose", "llama-3.1-8b-long-prompts.yaml", *LOAD),
        ("diagnose", "llama-3.1-8b-chat.yaml", "--workload", "traces/azure-layout.csv"),
        ("diagnose", *LOAD, "--", *f"vllm serve Qwen/Qwen3-30B-A3B -tp 2 -dp 2 {NGRAM}".split()),
        ("simulate", "llama-3.1-8b-chat.yaml", *LOAD),
        ("tune", "llama-3.1-8b-long-prompts.yaml", "--jobs", "1"),
    ],
    ids=" ".join,
)
def test_every_python_version_prints_the_same_floats(
    call: Callable[..., tuple[int, str, str]],
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(EXAMPLES)
    command, *rest = arguments
    found = []
    for adding in (plain_sum, exact_sum):
        monkeypatch.setattr(builtins, "sum", adding)
        found.append(call(command, *AT, "--format", "json", *rest))
    assert found[0] == found[1]
