"""`sched-reader upgrade` as it is typed."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
CONFIG = "model: meta-llama/Llama-3.1-8B-Instruct\nmax-model-len: 8192\nswap-space: 4  # GiB\n"
FIXED = "model: meta-llama/Llama-3.1-8B-Instruct\nmax-model-len: 8192\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "serve.yaml"
    file.write_text(CONFIG)
    return file


def test_a_flag_that_is_gone_ends_in_one(call: Run, config: Path) -> None:
    code, out, _ = call("upgrade", config, "--from", "0.14.0", "--to", "0.18.0", "--format", "json")
    assert code == 1
    assert json.loads(out)["engines"][0]["refused"] is True
    assert config.read_text() == CONFIG


def test_diff_writes_nothing(call: Run, config: Path) -> None:
    code, out, err = call("upgrade", config, "--to", "0.18.0", "--diff")
    assert (code, err) == (0, "")
    assert out == (
        f"--- {config}\n+++ {config}\n@@ -1,3 +1,2 @@\n"
        " model: meta-llama/Llama-3.1-8B-Instruct\n max-model-len: 8192\n-swap-space: 4  # GiB\n"
    )
    assert config.read_text() == CONFIG


def test_fix_keeps_the_mode_of_the_file(call: Run, config: Path) -> None:
    config.chmod(0o750)
    code, _, _ = call("upgrade", config, "--from", "0.14.0", "--to", "0.18.0", "--fix")
    assert code == 0
    assert config.read_text() == FIXED
    assert stat.S_IMODE(config.stat().st_mode) == 0o750


def test_what_is_left_alone_is_told_beside_the_diff(call: Run, config: Path) -> None:
    config.write_text(CONFIG + "rope-theta: 10000\n")
    code, out, err = call("upgrade", config, "--to", "0.18.0", "--diff")
    assert code == 1
    assert "-swap-space" in out
    assert f"{config}:4:1: --rope-theta is left alone" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "0.18.0"], "give --from"),
        (["--from", "0.18.0", "--to", "0.9.2"], "later release"),
        (["--from", "soon", "--to", "0.9.2"], "no vLLM version"),
    ],
)
def test_wrong_usage(call: Run, config: Path, arguments: list[str], said: str) -> None:
    code, out, err = call("upgrade", config, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_a_command_line_cannot_be_fixed(call: Run) -> None:
    code, _, err = call("upgrade", "--fix", "--", "vllm", "serve", "a/b")
    assert code == 2
    assert "need a file" in err
