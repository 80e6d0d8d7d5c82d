"""Commands are loaded by name, and options convert the same whether or not pydantic is needed."""

from __future__ import annotations

import pytest

from scheduler_reader.cli import main
from scheduler_reader.cli.app import COMMANDS


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out + printed.err


def test_help_lists_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = outcome(capsys, "--help")
    assert code == 0
    assert [name for name in COMMANDS if name not in text] == []
    assert "The vLLM" not in text  # of `list versions`, not of the group


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = outcome(capsys, name, "--help")
    assert code == 0
    assert f"sched-reader {name}" in text


def test_a_misspelt_command_is_compared_with_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = outcome(capsys, "diagnos", "x.yaml")
    assert code == 2
    assert "'diagnose'" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--fail-on", "nothing"), "'error'"),
        (("--format", ""), "--format"),
        (("--gpu-count", "0"), "--gpu-count"),
        (("--gpu-count", "two"), "--gpu-count"),
        (("--rate", "-1"), "--rate"),
        (("--isl", "1.5"), "--isl"),
    ],
)
def test_a_value_that_does_not_convert_is_wrong_usage(
    arguments: tuple[str, str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(capsys, "diagnose", "x.yaml", *arguments)
    assert code == 2
    assert word in text


@pytest.mark.parametrize("given", ["never", "error"])
def test_values_that_convert_reach_the_command(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = outcome(
        capsys,
        *("diagnose", "--fail-on", given, "--gpu-count", "1", "--rate", "0.5"),
        *("--format", "json", "--", "vllm", "serve", "m", "--no-such-flag"),
    )
    assert code == (0 if given == "never" else 1)
