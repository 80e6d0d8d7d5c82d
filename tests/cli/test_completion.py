"""Shell completion: commands are loaded when they are asked for, and completed all the same."""

from __future__ import annotations

import os
import pty
import select
import shutil
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


def installed(name: str, shell: dict[str, str]) -> None:
    """Install completion from within that shell; skips where the machine has none of that name."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on this machine")
    command = "sched-reader --install-completion; true"  # true: the shell stays, and is found
    subprocess.run([name, "-c", command], env=shell, cwd=shell["HOME"], check=True)


@pytest.mark.parametrize(("words", "found"), WORDS)
def test_fish_completes_with_the_installed_script(
    words: str, found: list[str], shell: dict[str, str]
) -> None:
    installed("fish", shell)
    ran = subprocess.run(
        ["fish", "-c", f'complete -C "{words}"'],
        env=shell, cwd=shell["HOME"], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line.split("\t")[0] for line in ran.stdout.splitlines() if line] == found


def test_zsh_completes_with_the_installed_script(shell: dict[str, str]) -> None:
    """From the first Tab of a session on, which loads the script."""
    installed("zsh", shell)
    terminal, end = pty.openpty()
    session = subprocess.Popen(
        ["zsh", "-i"], stdin=end, stdout=end, stderr=end, start_new_session=True,
        env={**shell, "TERM": "dumb"}, cwd=shell["HOME"],
    )  # fmt: skip
    os.close(end)
    try:
        typed(terminal, "print the-prompt-is-$((1 + 1))\r", until="the-prompt-is-2")
        typed(terminal, "sched-reader sim\t", until="ulate ")
        typed(terminal, "\x15sched-reader check --format ju\t", until="nit ")
    finally:
        session.kill()
        session.wait()
        os.close(terminal)


def typed(terminal: int, keys: str, until: str) -> None:
    """Type keys and read on until the shell has answered; fails when a minute brings no answer."""
    os.write(terminal, keys.encode())
    seen = ""
    while until not in seen:
        assert select.select([terminal], [], [], 60)[0], f"no {until!r} in {seen!r}"
        seen += os.read(terminal, 4096).decode()
