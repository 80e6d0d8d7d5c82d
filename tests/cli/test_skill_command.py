"""`sched-reader skill` as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_the_file_goes_into_the_current_folder(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call("skill")
    assert (code, out) == (0, "")
    assert err == "sched-reader: wrote skill-vllm-scheduler-reader.md\n"
    assert (tmp_path / "skill-vllm-scheduler-reader.md").read_text().startswith("---\nname: vllm-")


def test_a_folder_of_the_skills_name(call: Any, tmp_path: Path) -> None:
    code, _, _ = call("skill", "--folder", tmp_path / "skills")
    assert code == 0
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert found == {
        "skills/vllm-scheduler-reader/SKILL.md",
        "skills/vllm-scheduler-reader/references/compatibility.md",
        "skills/vllm-scheduler-reader/references/corrections.md",
        "skills/vllm-scheduler-reader/references/defaults.md",
    }


def test_a_deployment_with_its_secrets_left_out(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct\napi-key: sk-secret-word-1234567890\n")
    target = ("--vllm-version", "0.18.0", "--gpu", "h100")
    code, out, _ = call("skill", file, *target, "--output", "-")
    assert code == 0
    assert "## This deployment" in out and "## What vLLM 0.18.0 excludes or limits" in out
    assert "sk-secret" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gpu", "h100"), "--gpu is about a configuration"),
        (("--output", "-", "--folder", "x"), "give one of them"),
        (("--vllm-version", "banana"), "banana"),
    ],
)
def test_wrong_usage(call: Any, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = call("skill", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_an_unreadable_configuration_writes_nothing(call: Any, tmp_path: Path) -> None:
    code, out, err = call("skill", tmp_path / "none.yaml", "--output", "-")
    assert (code, out) == (3, "")
    assert "none.yaml" in err
