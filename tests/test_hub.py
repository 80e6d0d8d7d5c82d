"""`--hub` against a server of our own with a small model: what is fetched, kept, and told when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from local_hub import COMMIT, Hub, local_hub

needs_extra = pytest.mark.skipif(
    find_spec("huggingface_hub") is None, reason="the extra hub is not installed"
)


@pytest.fixture
def hub() -> Iterator[str]:
    with local_hub() as address:
        yield address


def diagnose(
    folder: Path, hub: str | None, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`diagnose --hub` of a command line, with a cache of its own."""
    endpoint = hub or "http://127.0.0.1:9"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    served = ("vllm", "serve", *arguments)
    options = ("--hub", "--format", "json", "--fail-on", "never")
    return subprocess.run(
        [sys.executable, "-m", "scheduler_reader", "diagnose", *options, "--", *served],
        env=kept
        | {"XDG_CACHE_HOME": str(folder), "HF_HOME": str(folder / "hf"), "HF_ENDPOINT": endpoint}
        | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_extra
def test_config_and_tensor_sizes_are_fetched_once(hub: str, tmp_path: Path) -> None:
    run = diagnose(tmp_path, hub, "acme/small")
    assert run.returncode == 0, run.stderr
    engine = json.loads(run.stdout)["engines"][0]
    assert engine["model"]["id"] == "acme/small"
    assert engine["settings"]["max_model_len"]["value"] == 8192
    # 128,256 x 2,048 and 8,192 x 2,048 elements of two bytes, from the header alone
    assert engine["capacity"]["weights_gib"] * 1024**3 == pytest.approx(558_891_008, rel=0.01)
    assert not [path for path in Hub.asked if "README" in path]
    folder = tmp_path / "sched-reader" / "hub" / "acme" / "small" / COMMIT
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    asked = len(Hub.asked)
    again = diagnose(tmp_path, hub, "acme/small", "--revision", COMMIT)
    assert again.returncode == 0, again.stderr
    assert len(Hub.asked) == asked


@needs_extra
@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("acme/gated", "acme/gated is gated: ask for access"),
        ("acme/missing", "acme/missing is not on the hub, or private"),
    ],
)
def test_what_the_hub_does_not_show_is_told(
    hub: str, tmp_path: Path, model: str, says: str
) -> None:
    run = diagnose(tmp_path, hub, model)
    assert run.returncode == 3
    assert says in run.stderr
    assert len(run.stderr.splitlines()) == 1


@needs_extra
def test_a_hub_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    run = diagnose(tmp_path, None, "acme/small")
    assert run.returncode == 3
    assert "acme/small cannot be fetched: " in run.stderr
    offline = diagnose(tmp_path, None, "acme/small", HF_HUB_OFFLINE="1")
    assert offline.returncode == 3
    assert "HF_HUB_OFFLINE is set" in offline.stderr


@needs_extra
def test_a_path_is_no_model_of_the_hub(tmp_path: Path) -> None:
    run = diagnose(tmp_path, None, "/models/acme/small")
    assert run.returncode == 2
    assert "/models/acme/small is no model id of the hub" in run.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "huggingface_hub.py").write_text("raise ImportError\n")
    run = diagnose(tmp_path, None, "acme/small", PYTHONPATH=str(tmp_path))
    assert run.returncode == 2
    assert "pip install 'sched-reader[hub]'" in run.stderr
