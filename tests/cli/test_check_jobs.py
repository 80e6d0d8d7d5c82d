"""`check --jobs`: any number of processes prints the same bytes, in every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler_reader.report import formats

Run = Callable[..., tuple[int, str, str]]

ENGINES = 7


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for number in range(ENGINES):
        reason = "  # sched-reader: ignore[FLG] kept until the move" if number % 2 else ""
        (tmp_path / f"serve-{number}.yaml").write_text(
            f"model: Qwen/Qwen3-8B\nmax-model-len: {4096 * (number + 1)}\n"
            f"swap-space: 4{reason}\napi-key: very-secret-{number}\n"
        )
    return tmp_path


@pytest.mark.parametrize("name", sorted(set(formats.names()) - {"terminal"}))
def test_every_format_is_the_same_with_any_number_of_processes(
    call: Run, fleet: Path, name: str
) -> None:
    arguments = ("check", str(fleet), "--format", name, "--vllm-version", "0.18.0")
    one = call(*arguments, "--jobs", "1")
    assert "very-secret" not in one[1]
    assert call(*arguments, "--jobs", "3") == one
    assert call(*arguments) == one


def test_a_stated_workload_is_the_same_in_processes(call: Run, fleet: Path) -> None:
    load = ("--isl", "1000", "--osl", "200", "--concurrency", "32")
    one = call("check", str(fleet), *load, "--jobs", "1")
    assert call("check", str(fleet), *load, "--jobs", "2") == one


def test_wrong_options_are_refused_alike(call: Run, fleet: Path) -> None:
    one = call("check", str(fleet), "--gpu", "no-such-gpu", "--jobs", "1")
    assert one[0] == 2
    assert call("check", str(fleet), "--gpu", "no-such-gpu", "--jobs", "2") == one
