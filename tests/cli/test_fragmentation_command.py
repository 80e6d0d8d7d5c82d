"""`sched-reader fragmentation`: what is printed, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_reader.cli import main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(("fragmentation", *arguments))
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out + captured.err


def test_the_whole_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, text = printed(capsys, "--lengths", "1500", "--requests", "1000")
    assert code == 0
    assert [line.rstrip() for line in text.splitlines()] == [
        "1,000 requests, 1,500 tokens on average",
        "  contiguous  8,192 slots each  8,192,000 slots  81.7% empty",
        "  blocks      of 16 tokens      1,504,000 slots  0.3% empty",
        "Blocks hold 5.4 times as many requests in the same memory.",
        "",
        "Waste of blocks",
        "  formula  (16 − 1) / 2 = 7.5 tokens a request; 7.5 / 1,500 = 0.50% of the tokens held",
        "  counted  4.00 tokens a request, 0.27%",
        "It does not grow with a request, so a fixed share such as 4 % is right at one length only: 188",
        "tokens.",
    ]


def test_a_column_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "lengths.jsonl"
    file.write_text('{"total": 10}\n{"total": 30}\n')
    code, text = printed(capsys, "--lengths", str(file), "--column", "total", "--format", "json")
    assert code == 0
    assert json.loads(text)["mean_tokens"] == 20
    assert json.loads(text)["blocks"]["wasted_tokens_per_request"] == (6 + 2) / 2


def test_a_trace_holds_prompt_and_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("input_tokens,output_tokens\n100,20\n")
    code, text = printed(capsys, "--lengths", str(file), "--format", "json")
    assert (code, json.loads(text)["held_tokens"]) == (0, 120)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--lengths", "gamma:1,2"), 2, "no file and no law"),
        (("--lengths", "normal:1500"), 2, "--lengths normal:1500"),
        (("--lengths", "uniform:9,3"), 2, "low <= high"),
        (("--lengths", "100", "--column", "x"), 2, "--column needs a file"),
        (("--block-size", "0"), 2, "--block-size"),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, text = printed(capsys, *arguments)
    assert found == code
    assert words in text


def test_a_file_without_the_column(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "lengths.csv"
    file.write_text("tokens\n12\n")
    code, text = printed(capsys, "--lengths", str(file), "--column", "total")
    assert code == 3
    assert "lengths.csv:2: no column total; there are tokens" in text
