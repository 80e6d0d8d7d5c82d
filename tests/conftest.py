"""Where recorded truth lies, engines as the stages before performance leave them, and the command line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.cli import main
from scheduler_reader.parse import parse_command
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.workload import DEFAULT_WORKLOAD, Workload

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recorded corpus, truth and oracle; skips where it is absent."""
    folder = Path(os.environ.get("SCHED_READER_SHARED") or ROOT.parent / "shared")
    if not (folder / "accept" / "accept.py").is_file():
        pytest.skip(f"recorded truth is not at {folder} (SCHED_READER_SHARED)")
    return folder


@pytest.fixture(scope="session")
def served() -> Callable[..., tuple[ResolvedEngine, CapacityPlan]]:
    """`served("meta-llama/Llama-3.1-8B-Instruct -tp 2", LOAD)`: the engine and its capacity plan."""

    def run(
        arguments: str,
        workload: Workload = DEFAULT_WORKLOAD,
        *,
        version: str = "0.18.0",
        gpu: str = "h100-sxm",
        gpu_count: int | None = None,
    ) -> tuple[ResolvedEngine, CapacityPlan]:
        parsed = parse_command(["vllm", "serve", *shlex.split(arguments)]).engines[0]
        engine = resolve(parsed, ResolveOptions(version, gpu, gpu_count))
        return engine, plan_capacity(engine, workload)

    return run


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Run:
    """`call("check", folder)`: exit code, stdout and stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run
