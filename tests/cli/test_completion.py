"""Shell completion: commands are loaded when they are asked for, and completed all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORDS = [
    ("sched-reader sim", ["simulate"]),
    ("sched-reader diagnose --gpu-m", ["--gpu-memory-used-gib"]),
    ("sched-reader check --format j", ["json", "junit"]),
    ("sched-reader list g", ["gpus"]),
    ("sched-reader --vers", ["--version"]),
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has `sched-reader` on the path, and a home of their own."""
    folder = tmp_path_factory.mktemp("home")
    program = folder / "sched-reader"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m scheduler_reader "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "HOME": str(folder), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def answer(shell: dict[str, str], **variables: str) -> str:
    done = subprocess.run(
        ["sched-reader"], env={**shell, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(("words", "found"), WORDS)
def test_what_each_shell_is_told(words: str, found: list[str], shell: dict[str, str]) -> None:
    count = str(len(words.split()) - 1)
    bash = answer(shell, _SCHED_READER_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
    assert bash.split() == found
    zsh = answer(shell, _SCHED_READER_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=words)
    fish = answer(
        shell,
        _SCHED_READER_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS=words,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    for name in found:
        assert f'"{name}"' in zsh
        assert name in fish


def test_bash_completes_with_the_installed_script(shell: dict[str, str]) -> None:
    ran = subprocess.run(
        [
            "bash", "--norc", "-euc",
            "sched-reader --install-completion bash > installed.txt\n"
            ". ~/.bash_completions/sched-reader.sh\n"
            "COMP_WORDS=(sched-reader sim) COMP_CWORD=1\n"
            "_sched_reader_completion sched-reader\n"
            'echo "${COMPREPLY[@]}"\n',
        ],
        env=shell, cwd=shell["HOME"], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "simulate\n"
    assert "bash_completions" in (Path(shell["HOME"]) / ".bashrc").read_text()


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_the_script_of_another_shell_asks_this_program(name: str, shell: dict[str, str]) -> None:
    script = answer(shell, _SCHED_READER_COMPLETE=f"source_{name}")
    assert f"_SCHED_READER_COMPLETE=complete_{name}" in script
