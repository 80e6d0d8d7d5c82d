"""Asynchronous scheduling by default."""

from __future__ import annotations

import pytest


def spec(method: str) -> str:
    return f"""--speculative-config '{{"method": "{method}", "num_speculative_tokens": 2}}'"""


@pytest.mark.parametrize(
    ("version", "arguments", "env", "on"),
    [
        ("0.13.0", "", {}, False),
        ("0.14.0", "", {}, True),
        ("0.14.0", "--no-async-scheduling", {}, False),
        ("0.14.1", "-pp 2", {}, False),
        ("0.15.0", "-pp 2", {}, True),
        ("0.31.0", "-pp 2", {}, True),
        ("0.31.0", "-pp 2", {"VLLM_USE_V2_MODEL_RUNNER": "0"}, False),
        ("0.14.0", spec("eagle3"), {}, True),
        ("0.14.0", spec("ngram"), {}, False),
        ("0.27.1", spec("draft_model"), {}, False),
        ("0.28.0", spec("draft_model"), {}, True),
        ("0.32.0", spec("ngram"), {}, False),
        ("0.33.0", spec("ngram"), {}, True),
        ("0.33.0", spec("suffix"), {}, False),
        ("0.18.0", "--distributed-executor-backend ray", {}, False),
        ("0.19.0", "--runner pooling", {}, True),
        ("0.20.0", "--runner pooling", {}, False),
    ],
)
def test_async_scheduling(resolved, version, arguments, env, on):
    assert resolved(arguments, version=version, env=env).get("async_scheduling") is on
