"""Settings of a file stand in for options; the command line wins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.cli import main

ENGINE = "model: Qwen/Qwen3-8B\nmax-model-len: 8192\n"


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "serve.yaml").write_text(ENGINE)
    (tmp_path / "sched-reader.toml").write_text(
        'vllm-version = "0.18.0"\ngpu = "l40s"\nisl = 2000\nconcurrency = 8\nslo-ttft-ms = 500\n'
    )
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out or printed.err


def engine(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(run(capsys, *arguments, "--format", "json")[1])["engines"][0]


@pytest.mark.parametrize("command", ["diagnose", "check"])
def test_a_command_takes_its_options_from_the_file(
    deploy: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read = engine(capsys, command, str(deploy / "serve.yaml"))
    assert read["hardware"]["gpu"] == "l40s"
    assert read["vllm_version"] == {
        "value": "0.18.0",
        "origin": f"{deploy / 'sched-reader.toml'}:1",
    }
    workload = read["performance"]["workload"]
    assert (workload["input_tokens"], workload["concurrency"]) == (2000, 8)


def test_the_command_line_wins(deploy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = engine(capsys, "diagnose", str(deploy / "serve.yaml"), "--gpu", "h100", "--rate", "2")
    assert read["hardware"] == read["hardware"] | {"gpu": "h100-sxm", "origin": "--gpu"}
    workload = read["performance"]["workload"]
    assert workload["protocol"] == "open-loop"  # not the file's concurrency
    assert workload["input_tokens"] == 2000
    read = engine(capsys, "diagnose", str(deploy / "serve.yaml"), "--workload", "rag")
    assert read["performance"]["workload"]["name"] == "rag"  # untouched by the file's isl


def test_upgrade_and_simulate_take_them_too(
    deploy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(deploy / "serve.yaml")
    assert '"0.18.0"' in run(capsys, "upgrade", file, "--to", "0.20.0", "--format", "json")[1]
    (deploy / "sched-reader.toml").write_text('gpu = "none"\n')
    assert run(capsys, "simulate", file)[0] == 2


def test_one_run_reads_under_one_settings_file(
    deploy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (deploy / "eu").mkdir()
    (deploy / "eu" / "serve.yaml").write_text(ENGINE)
    (deploy / "eu" / "sched-reader.toml").write_text('gpu = "l4"\n')
    code, text = run(
        capsys, "diagnose", str(deploy / "serve.yaml"), str(deploy / "eu" / "serve.yaml")
    )
    assert code == 2
    assert "read them in two runs" in text


def test_settings_show_names_each_place(deploy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(deploy / "serve.yaml")
    shown = json.loads(run(capsys, "settings", "show", file, "--format", "json")[1])
    place = f"{deploy / 'sched-reader.toml'}:2"
    assert shown["settings"]["gpu"] == {"value": "l40s", "origin": place}
    assert shown["settings"]["rate"]["value"] is None
    text = run(capsys, "settings", "show", file)[1]
    assert f"gpu                  l40s  ({place})" in text
    assert "gpu-count            - (the configuration's own, else one for each rank)" in text
