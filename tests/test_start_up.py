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
before = set(sys.modules)  # what Python and its environment load by themselves
from scheduler_reader.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
print(*(name for name in sys.modules if name not in before), file=sys.stderr)
"""
DATACLASSES = """
import dataclasses, sys
from scheduler_reader.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
ours = [module for name, module in sys.modules.items() if name.startswith("scheduler_reader.")]
records = {item for module in ours for item in vars(module).values() if isinstance(item, type)}
print(*(item.__name__ for item in records if dataclasses.is_dataclass(item)), file=sys.stderr)
"""
FROZEN = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))  # runs last
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
        "tempfile",
        "packaging.specifiers",
        "scheduler_reader.observe.observation",
        "scheduler_reader.diagnosis.measured",
        "scheduler_reader.parse.image_version",
        "scheduler_reader.rule_engine.template",
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
    assert {name for name in ours if name.startswith("scheduler_reader.observe.")} == set()


def test_a_file_needs_yaml_and_no_pydantic(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct\ngpu-memory-utilization: 0.9\n")
    modules = loaded(*DIAGNOSE, str(file))
    assert "yaml" in modules
    assert "pydantic" not in modules
    assert not {f"scheduler_reader.parse.{name}" for name in ("remarks", "excerpt")} & modules


def test_a_remark_in_yaml_loads_no_reader_of_other_comments(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct  # of sched-reader\n")
    modules = loaded(*DIAGNOSE, str(file))
    assert "scheduler_reader.parse.remarks" in modules
    others = {f"scheduler_reader.parse.{name}" for name in ("shell_lexer", "comment_syntax")}
    assert not others & modules


def test_a_terminal_report_loads_rich_and_nothing_of_observations() -> None:
    modules = loaded("diagnose", "--fail-on", "never", *COMMAND_LINE[COMMAND_LINE.index("--") :])
    assert "rich.console" in modules
    assert not any(name.startswith("scheduler_reader.observe.") for name in modules)


def test_help_loads_the_commands_and_none_of_their_stages() -> None:
    ours = {name for name in loaded("--help") if name.startswith("scheduler_reader.")}
    assert {"scheduler_reader.cli.check", "scheduler_reader.cli.tune"} <= ours
    stages = ("resolve", "capacity", "performance", "simulate", "diagnosis", "rule_engine", "tune")
    assert not {
        name for name in ours if name.startswith(tuple(f"scheduler_reader.{s}" for s in stages))
    }


def test_few_records_are_dataclasses() -> None:
    """One is defined in four times the time of a named tuple, and was a seventh of a diagnosis."""
    run = subprocess.run(
        [sys.executable, "-c", DATACLASSES, *COMMAND_LINE],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(run.stderr.split()) <= 16, run.stderr


def test_the_end_of_a_process_searches_for_no_garbage() -> None:
    """The two searches for cycles that Python makes at its end were a tenth of a diagnosis."""
    run = subprocess.run(
        [sys.executable, "-c", FROZEN + LISTING, *COMMAND_LINE],
        capture_output=True,
        text=True,
        check=True,
    )
    frozen, in_reach = map(int, run.stdout.rpartition("\n}")[2].split())
    assert frozen > 10_000 > in_reach
