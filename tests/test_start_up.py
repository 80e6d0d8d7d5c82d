"""What a run loads: only what it needs, since most of its time is loading modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_reader.data import FOLDERS, documents

DIAGNOSE = ("diagnose", "--format", "json", "--fail-on", "never")
COMMAND_LINE = (*DIAGNOSE, "--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "-tp", "1")
LISTING = """
import sys
from scheduler_reader.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
print(*sys.modules, file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a run of the command line leaves loaded."""
    for folder in FOLDERS:
        documents(folder)  # a checkout compiles what has changed, which loads yaml
    run = subprocess.run(
        [sys.executable, "-c", LISTING, *arguments],
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stderr.split())


@pytest.fixture(scope="module")
def diagnosis() -> set[str]:
    return loaded(*COMMAND_LINE)


@pytest.mark.parametrize("name", ["socket", "ssl", "http.client", "urllib.request"])
def test_no_connection_could_be_opened(diagnosis: set[str], name: str) -> None:
    assert name not in diagnosis
    assert not {"huggingface_hub", "scheduler_reader.hub", "scheduler_reader.cli.hub"} & diagnosis


def test_settings_are_read_only_where_a_file_has_some(diagnosis: set[str], tmp_path: Path) -> None:
    assert "scheduler_reader.settings" not in diagnosis
    (tmp_path / "sched-reader.toml").write_text('gpu = "h100"\n')
    (tmp_path / "serve.yaml").write_text("model: meta-llama/Llama-3.1-8B-Instruct\n")
    assert {"scheduler_reader.settings", "tomllib"} <= loaded(
        *DIAGNOSE, str(tmp_path / "serve.yaml")
    )


@pytest.mark.parametrize(
    "name",
    [
        "pydantic",
        "yaml",
        "rich",
        "hypothesis",
        "importlib.metadata",
        "email",
        "prometheus_client",
        "tomllib",
        "concurrent.futures",
        "scheduler_reader.observe.failed_start",
        "scheduler_reader.observe.log_text",
    ],
)
def test_a_command_line_is_diagnosed_without(diagnosis: set[str], name: str) -> None:
    assert name not in diagnosis


def test_other_commands_and_reports_are_not_loaded(diagnosis: set[str]) -> None:
    ours = {name for name in diagnosis if name.startswith("scheduler_reader.")}
    assert "scheduler_reader.cli.diagnose" in ours
    assert not {"scheduler_reader.cli.listing", "scheduler_reader.cli.simulate"} & ours
    assert not any(name.startswith("scheduler_reader.report.terminal") for name in ours)
    assert not any(name.startswith("scheduler_reader.simulate") for name in ours)
    assert not any(name.startswith("scheduler_reader.parse.forms.") for name in ours)


def test_a_file_needs_yaml_and_no_pydantic(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct\ngpu-memory-utilization: 0.9\n")
    modules = loaded(*DIAGNOSE, str(file))
    assert "yaml" in modules
    assert "pydantic" not in modules
