"""A file of many findings: what is the same for all of an engine is computed once."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scheduler_reader.gate.baseline import Baseline
from scheduler_reader.gate.controls import Controls
from scheduler_reader.gate.judgement import judge
from scheduler_reader.parse import parse_text
from scheduler_reader.pipeline import Request, check
from scheduler_reader.privacy import secrets
from scheduler_reader.report.report import Report


def searches_for_secrets(form: str, words: int, folder: Path) -> int:
    """How often the secrets of an engine are looked for while the gate and a format list it."""
    stray = " ".join(f"stray{number}" for number in range(words))
    file = parse_text(f"vllm serve Qwen/Qwen3-8B {stray}\n", "run.sh")
    request = Request()
    checked = [check(engine, request) for engine in file.engines]
    assert len(checked[0].findings) >= words
    render = import_module(f"scheduler_reader.report.formats.{form}").render
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is secrets.__code__

    controls = Controls(baseline=Baseline(folder / "baseline.yaml"), writes_baseline=True)
    sys.setprofile(count)
    try:
        judge([file], checked, request, controls)
        render(Report(checked))
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("form", ["text", "sarif", "github", "gitlab", "junit"])
def test_secrets_are_looked_for_once_an_engine(form: str, tmp_path: Path) -> None:
    few, many = (searches_for_secrets(form, words, tmp_path) for words in (20, 60))
    assert 0 < few == many < 20
