"""The command line as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler_reader.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Run:
    """`call("check", folder)`: exit code, stdout and stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run
