"""What is written and does not run."""

from __future__ import annotations

import shlex

import pytest

from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.no_effect import overridden_settings, unread_variables


def engine(command: str, version: str):  # type: ignore[no-untyped-def]
    return resolve(parse_command(shlex.split(command)).engines[0], ResolveOptions(version, "h100"))


@pytest.mark.parametrize(
    ("command", "version", "overridden"),
    [
        ("vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill", "0.10.2",
         [("enable_chunked_prefill", False, True)]),
        ("vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill", "0.18.0", []),
        ("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --enable-prefix-caching", "0.11.0",
         [("enable_prefix_caching", True, False)]),
        ("vllm serve Qwen/Qwen3-8B --dtype half --max-model-len 8k --kv-cache-dtype fp8", "0.18.0", []),
        ("vllm serve Qwen/Qwen3-8B --cudagraph-capture-sizes 8 4 1", "0.18.0", []),
    ],
)  # fmt: skip
def test_settings_that_vllm_overrides(
    command: str, version: str, overridden: list[tuple[str, object, object]]
) -> None:
    found = overridden_settings(engine(command, version))
    assert [(one.name, one.given, one.value) for one in found] == overridden


def test_variables_that_the_release_does_not_read() -> None:
    command = "VLLM_ATTENTION_BACKEND=FLASHINFER HF_HOME=/x vllm serve Qwen/Qwen3-8B"
    (found,) = unread_variables(engine(command, "0.18.0"))
    assert (found.name, found.value, found.kind) == ("VLLM_ATTENTION_BACKEND", "FLASHINFER", "gone")
