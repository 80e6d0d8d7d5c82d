"""Sdist and wheel stand alone: built, unpacked elsewhere, run outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def build(kind: str, source: Path, out: Path) -> Path:
    """The one file that hatchling makes of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source tree that the sdist holds."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder / "built")) as archive:
        archive.extractall(folder / "tree", filter="data")
    (tree,) = (folder / "tree").iterdir()
    return tree


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the sdist alone."""
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, as `pip install --target` lays them."""
    target = tmp_path_factory.mktemp("installed") / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, "-P", "-m", "scheduler_reader", *arguments],
        cwd=installed,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_sdist_has_every_file_of_the_checkout(unpacked: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    tracked = {path for path in listed.stdout.decode().split("\0") if (ROOT / path).is_file()}
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert tracked - held == set()


def test_sdist_and_checkout_make_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    assert build("wheel", ROOT, tmp_path / "built").read_bytes() == wheel.read_bytes()


def test_only_the_package_is_installed(installed: Path) -> None:
    top = {path.name.partition("-")[0] for path in installed.iterdir()}
    assert top == {"scheduler_reader", "sched_reader"}  # the latter is the metadata
    assert (installed / "scheduler_reader" / "py.typed").is_file()


def test_rules_and_matrix_are_compiled_and_whole(installed: Path) -> None:
    data = installed / "scheduler_reader" / "_data"
    for name in ("rules", "compat_matrix"):
        compiled = json.loads((data / f"{name}.compiled.json").read_bytes())
        assert set(compiled) == {
            path.relative_to(ROOT / name).as_posix() for path in (ROOT / name).rglob("*.yaml")
        }
    listed = run(installed, "list", "rules", "--format", "json")
    assert len(json.loads(listed.stdout)["rules"]) == len(list((ROOT / "rules").rglob("*.yaml")))


def test_the_main_job_runs_outside_the_checkout(installed: Path) -> None:
    example = installed / "scheduler_reader" / "_data" / "examples" / "llama-3.1-8b-chat.yaml"
    options = ("--vllm-version", "0.18.0", "--gpu", "h100", "--format", "json")
    done = run(installed, "diagnose", str(example), *options)
    assert done.returncode == 0, done.stderr
    (engine,) = json.loads(done.stdout)["engines"]
    assert engine["capacity"]["starts"] is True
