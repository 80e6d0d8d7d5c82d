"""Files that strangers wrote: secrets stay secret, terminals stay calm, bombs are told so."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scheduler_reader.cli.time_limit import time_limit
from scheduler_reader.errors import InputError

Run = Callable[..., tuple[int, str, str]]

POD = r"""
apiVersion: v1
kind: Pod
metadata: {name: "x\e[31mred"}
spec:
  containers:
    - name: "vllm\e]0;title\a"
      image: vllm/vllm-openai:v0.18.0
      env:
        - {name: HF_TOKEN, value: hf_NEVERSHOWNNEVERSHOWN}
        - {name: VLLM_API_KEY, value: NEVERSHOWN1}
        - {name: HUGGING_FACE_HUB_TOKEN, value: NEVERSHOWN2}
      args: ["--model=https://bob:NEVERSHOWN3@host/model?token=NEVERSHOWN4", "--api-key", "NEVERSHOWN5",
             "NEVERSHOWN6", "--nope\e[2J", "--port", "abc\e[0m", "--max-num-seqs", "NEVERSHOWN5",
             "--hf-token=NEVERSHOWN7", "--served-model-name", "\e[31mevil", "--plugin-secret", "NEVERSHOWN8"]
"""
SCRIPT = """#!/bin/sh
export API_KEY=NEVERSHOWN1
vllm serve Qwen/Qwen3-8B --api-key $API_KEY --port $API_KEY --my-token NEVERSHOWN2 NEVERSHOWN1
API_TOKEN=NEVERSHOWN3 vllm serve $(cat secret)
"""
CONFIG = "model: m\napi-key: NEVERSHOWN1\nhf-token: NEVERSHOWN2\nport: NEVERSHOWN1\n"
COMMANDS = [
    ("diagnose", "--format", "terminal"),
    ("diagnose", "--format", "text"),
    ("diagnose", "--format", "json"),
    ("check",),
    ("check", "--format", "json"),
    ("parse",),
    ("parse", "--format", "json"),
    ("upgrade", "--from", "0.18.0", "--to", "0.33.0"),
    ("upgrade", "--from", "0.18.0", "--to", "0.33.0", "--format", "json"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "text"), [("pod.yaml", POD), ("run.sh", SCRIPT), ("serve.yaml", CONFIG)]
)
def test_no_secret_and_no_escape_sequence_is_printed(
    call: Run, tmp_path: Path, command: tuple[str, ...], name: str, text: str
) -> None:
    file = tmp_path / f"\x1b[31m{name}"
    file.write_text(text)
    code, out, err = call(*command, file)
    assert code in (0, 1)
    assert "NEVERSHOWN" not in out + err
    assert "\x1b" not in out + err
    assert "\x07" not in out + err


@pytest.mark.parametrize("command", [("diagnose",), ("check",), ("parse",), ("upgrade",)])
def test_the_name_of_an_unreadable_file_is_harmless(
    call: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, out, err = call(*command, tmp_path / "a\x1b[2J\x9b31m\u202eb\nc.yaml")
    assert code == 3
    assert "no such file" in err
    assert len(err.splitlines()) == (2 if command == ("check",) else 1)
    assert not set("\x1b\x9b\u202e") & set(out + err)


ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
BOMBS = {
    "aliases of aliases": ("a.yaml", ALIASES, "aliases written out"),
    "itself": ("a.yaml", "model: &a [*a]\n", "contains itself"),
    "brackets": ("a.yaml", "model: " + "[" * 5_000, "nested too deeply"),
    "blocks": ("a.yaml", "- " * 50_000 + "x", "nesting depth"),
    "documents": ("a.yaml", "model: m\n---\n" * 3_000, "more than 1,000 documents"),
    "engines": ("a.sh", "vllm serve m\n" * 3_000, "starts 3,000 engines"),
    "size": ("a.yaml", "# vllm\n" * 700_000, "larger than"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_clear_errors(call: Run, tmp_path: Path, bomb: str) -> None:
    name, text, said = BOMBS[bomb]
    file = tmp_path / name
    file.write_text(text)
    code, out, err = call("check", file)
    assert (code, out) == (3, "")
    assert said in err


def test_a_variable_that_doubles_itself_becomes_unknown(call: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text("A=xxxxxxxx\n" + "A=$A$A\n" * 60 + "vllm serve $A\n")
    code, out, _ = call("parse", file)
    assert code == 0
    assert "grows beyond 100,000 characters" in " ".join(out.split())


def test_what_takes_too_long_is_given_up() -> None:
    with (
        pytest.raises(InputError, match=r"slow.yaml: took longer than 0.05 s to read"),
        time_limit("slow.yaml", cpu_seconds=0.05),
    ):
        while True:
            pass


@pytest.mark.parametrize("lacking", ["setitimer", "SIGVTALRM"])
def test_where_there_are_no_timers_an_input_is_read_without_a_limit(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    monkeypatch.delattr(signal, lacking)
    file = tmp_path / "a.sh"
    file.write_text("vllm serve Qwen/Qwen3-8B\n")
    code, out, err = call("parse", file)
    assert (code, err) == (0, "")
    assert "Qwen/Qwen3-8B" in out
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_in_a_thread_an_input_is_read_without_a_limit() -> None:
    with ThreadPoolExecutor(1) as pool, time_limit("outer.yaml"):
        assert pool.submit(_limited).result(timeout=60) == "read"


def _limited() -> str:
    with time_limit("inner.yaml", cpu_seconds=0.001):
        return "read"


def test_the_environment_of_the_process_is_not_expanded(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_CI", "NEVERSHOWN")
    file = tmp_path / "a.sh"
    file.write_text("vllm serve $SECRET_OF_CI --served-model-name ${SECRET_OF_CI} ~/x\n")
    code, out, err = call("parse", file, "--format", "json")
    assert code == 0
    assert "NEVERSHOWN" not in out + err
    assert "$SECRET_OF_CI is not set in the file" in out
