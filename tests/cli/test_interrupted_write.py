"""A report or file that cannot be written whole leaves the old one, and nothing beside it."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from scheduler_reader.cli.output import replace_file
from scheduler_reader.errors import UsageError

OLD = "the old file\n"


def test_a_write_that_fails_half_way_leaves_the_old_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(UsageError, match=r"report\.json: cannot be written: File too large"):
            replace_file(file, "new" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert file.read_text() == OLD
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_a_file_that_is_a_folder_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "report.json").mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        replace_file(tmp_path / "report.json", "new")
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
