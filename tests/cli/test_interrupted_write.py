"""A report or file that cannot be written whole leaves the old one, and nothing beside it."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loads import BENCH

from scheduler_reader.cli.output import replace_file
from scheduler_reader.errors import UsageError

OLD = "the old file\n"
SKILL = "vllm-scheduler-reader"
AT = ("--vllm-version", "0.18.0", "--gpu", "h100")
SERVED = (
    "model: meta-llama/Llama-3.1-8B-Instruct\nmax-model-len: 8192\nmax-num-seqs: 8\nswap-space: 4\n"
)
LOAD = ("--isl", "2000", "--osl", "100", "--concurrency", "8")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that fills: what is written of a file beyond `size` bytes fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_write_that_fails_half_way_leaves_the_old_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(OLD)
    with (
        files_of_at_most(100_000),
        pytest.raises(UsageError, match=r"report\.json: cannot be written: File too large"),
    ):
        replace_file(file, "new" * 1_000_000)
    assert file.read_text() == OLD
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    "command",
    [
        ("diagnose", "serve.yaml", *AT, "--output", "html=old"),
        ("check", "serve.yaml", *AT, "--output", "sarif=old"),
        ("check", "serve.yaml", *AT, "--write-baseline", "new"),
        ("simulate", "serve.yaml", *AT, *LOAD, "--timeline", "old.html"),
        ("simulate", "serve.yaml", *AT, *LOAD, "--timeline", "old.json"),
        ("tune", "serve.yaml", *AT, *LOAD, "--jobs", "1", "--write", "old"),
        ("upgrade", "serve.yaml", "--from", "0.8.0", "--to", "0.18.0", "--fix"),
        ("calibrate", "serve.yaml", *AT, "--bench", "bench.json", "--write", "old"),
        ("skill", "serve.yaml", *AT, "--output", "old"),
        ("skill", "serve.yaml", *AT, "--folder", "."),
    ],
    ids=" ".join,
)
def test_every_command_that_writes_leaves_the_old_file(
    call: Callable[..., tuple[int, str, str]],
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(SKILL).mkdir()
    for name in ("old", "old.html", "old.json", f"{SKILL}/SKILL.md"):
        Path(name).write_text(OLD)
    Path("serve.yaml").write_text(SERVED)
    Path("bench.json").write_text(json.dumps(BENCH))
    before = contents(tmp_path)
    with files_of_at_most(10):
        code, _, err = call(*command)
    assert (code, "cannot be written: File too large" in err) == (2, True), err
    assert contents(tmp_path) == before


def test_a_file_that_is_a_folder_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "report.json").mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        replace_file(tmp_path / "report.json", "new")
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
