"""A user's mistake is one clear line and the right exit code, and never keeps other files unread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
GOOD = "model: meta-llama/Llama-3.1-8B-Instruct\nmax-model-len: 8192\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\x00\x01\x02\xff" * 20, "not UTF-8"),
        (b"model: [unclosed\nmax-model-len: 4096\n", "YAML"),
        (b"#!/bin/sh\nls -la /tmp\n", "vLLM"),
    ],
    ids=["missing", "empty", "binary", "invalid-yaml", "not-vllm"],
)
def test_unreadable_file_is_one_line_and_the_others_are_read(
    call: Run, tmp_path: Path, good: Path, content: bytes | None, said: str
) -> None:
    bad = tmp_path / ("bad.sh" if content and content.startswith(b"#!") else "bad.yaml")
    if content is not None:
        bad.write_bytes(content)
    code, out, err = call("diagnose", "--format", "json", "--vllm-version", "0.18.0", bad, good)
    assert code == 3
    assert len(json.loads(out)["engines"]) == 1
    lines = err.strip().splitlines()
    assert len(lines) == 1
    assert str(bad) in lines[0]
    assert said.lower() in lines[0].lower()


def test_directory_is_unreadable(call: Run, tmp_path: Path) -> None:
    code, _, err = call("diagnose", tmp_path)
    assert code == 3
    assert "directory" in err or "folder" in err


def test_nothing_to_read_is_wrong_usage(call: Run) -> None:
    code, _, err = call("diagnose")
    assert code == 2
    assert "nothing to read" in err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--gpu", "H1000", "h100"),
        ("--vllm-version", "newest-please", "0.33.0"),
        ("--slo-ttft-ms", "-5", "positive"),
        ("--workload", "no-such-preset", "chat"),
        ("--output", "sarifff=x", "json"),
    ],
)
def test_wrong_option_names_what_would_be_right(
    call: Run, good: Path, option: str, value: str, said: str
) -> None:
    code, out, err = call("diagnose", option, value, good)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_unknown_model_is_no_error(call: Run) -> None:
    code, out, _ = call(
        "diagnose", "--format", "json", "--vllm-version", "0.18.0",
        "--", "vllm", "serve", "example-org/no-such-model-9B", "--max-num-seqs", "32", "--max-model-len", "8192",
    )  # fmt: skip
    engine = json.loads(out)["engines"][0]
    assert code == 0
    assert "unknown" in engine["model"]
    assert engine["capacity"]["starts"] is None
    assert engine["settings"]["max_num_seqs"]["value"] == 32
    assert engine["settings"]["max_num_batched_tokens"]["value"] == 8192


def test_flag_that_vllm_refuses_is_a_finding(call: Run) -> None:
    code, out, _ = call(
        "diagnose", "--format", "json", "--vllm-version", "0.18.0",
        "--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192", "--swap-space", "4",
    )  # fmt: skip
    findings = json.loads(out)["engines"][0]["findings"]
    assert code == 1
    assert [f["effect"] for f in findings if "swap" in f["message"]] == ["refused"]
