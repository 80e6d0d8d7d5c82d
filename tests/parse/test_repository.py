"""Which files of a folder are parsed at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_file
from scheduler_reader.parse.repository import Walk, may_be_configuration, mentions_vllm

INPUTS = Path(__file__).resolve().parent.parent / "inputs"


def has_engine(path: Path) -> bool:
    try:
        return bool(parse_file(str(path)).engines)
    except InputError:
        return False


def test_every_input_with_an_engine_is_a_candidate() -> None:
    candidates = {Path(path) for path, _ in Walk(str(INPUTS)).candidates()}
    missed = [path for path in INPUTS.rglob("*") if path.is_file() and path not in candidates]
    assert [path for path in missed if path.suffix != ".json" and has_engine(path)] == []


def test_candidates_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b/2.yaml", "b/10.yaml", "a.yaml", "c/a/x.sh", "B.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("vllm serve m")
    found = [os.path.relpath(path, tmp_path) for path, _ in Walk(str(tmp_path)).candidates()]
    assert found == ["B.yaml", "a.yaml", "b/10.yaml", "b/2.yaml", "c/a/x.sh"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deploy/vllm.yaml", True),
        ("Dockerfile", True),
        ("Dockerfile.gpu", True),
        ("gpu.Dockerfile", True),
        ("serve", True),
        (".env", True),
        ("server.py", False),
        ("README.md", False),
        ("model.safetensors", False),
    ],
)
def test_names(name: str, expected: bool) -> None:
    assert may_be_configuration(name) is expected


def test_words() -> None:
    assert mentions_vllm(b"image: vllm/vllm-openai")
    assert mentions_vllm(b"max-num-batched-tokens: 8192")
    assert not mentions_vllm(b"image: nginx\nargs: [--port=80]")


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    walk = Walk(str(tmp_path / "missing"))
    assert list(walk.candidates()) == []
    assert walk.unreadable == [f"{tmp_path}/missing: cannot be listed: No such file or directory"]


@pytest.mark.skipif(os.name != "posix", reason="paths are short here")
def test_folders_may_nest_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        for _ in range(1_200):
            Path("a").mkdir()
            os.chdir("a")
        Path("x.sh").write_text("vllm serve m")
        assert [content for _, content in Walk(str(tmp_path)).candidates()] == [b"vllm serve m"]
    finally:
        os.chdir(tmp_path)
        subprocess.run(["rm", "-r", "a"], check=True)  # shutil.rmtree calls itself for each


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_hold_the_walk_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert list(Walk(str(tmp_path)).candidates()) == []
