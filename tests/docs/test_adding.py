"""The files that docs/adding.md shows are all it takes: put into a copy of the tree, each is used."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", re.S)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its data, with the page's files added."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("scheduler_reader", "rules", "compat_matrix", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    for path, text in FILE.findall(page):
        assert not (folder / path).exists()
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "engine.yaml").write_text(
        "acme_engine:\n  arguments: [acme/Acme-8B, --max-num-sequences, '4']\n"
    )
    return folder


def run(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scheduler_reader", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode <= 1, done.stderr
    return done.stdout


def test_a_gpu_and_a_model_are_listed(tree: Path) -> None:
    assert "acme-x1" in run(tree, "list", "gpus")
    assert "acme/Acme-8B" in run(tree, "list", "models")


def test_form_model_gpu_and_format_work_together(tree: Path) -> None:
    read = run(
        tree, "diagnose", "engine.yaml", "--vllm-version", "0.18.0", "--gpu", "x1",
        "--format", "json", "--output", "table=found.tsv",
    )  # fmt: skip
    (engine,) = json.loads(read)["engines"]
    assert engine["source"]["form"] == "acme"
    assert engine["hardware"]["gpu"] == "acme-x1"
    assert engine["model"]["parameters"] == 8_030_000_000
    assert engine["capacity"]["num_blocks"] > 0
    path, line, code, message = (tree / "found.tsv").read_text().splitlines()[0].split("\t")
    assert (path, line, code) == ("engine.yaml", "2", "FLG001")
    assert "--max-num-sequences" in message
