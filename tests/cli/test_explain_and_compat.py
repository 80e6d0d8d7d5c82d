"""`explain` and `compat` as they are typed."""

from __future__ import annotations

import json

import pytest

from scheduler_reader.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


def test_a_flag_may_be_written_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "--swap-space", "--format", "json")
    assert code == 0
    assert json.loads(out)["explanations"][0]["flag"] == "--swap-space"


def test_an_unknown_word_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "chunked-prefil")
    assert (code, out) == (2, "")
    assert "did you mean chunked prefill" in err


@pytest.mark.parametrize(
    ("features", "code"),
    [("chunked-prefill,spec-decode,lora", 0), ("prompt-embeds,spec-decode", 1), ("lorra,mla", 2)],
)
def test_features_that_exclude_each_other_end_in_one(
    capsys: pytest.CaptureFixture[str], features: str, code: int
) -> None:
    found, _, _ = run(capsys, "compat", "--with", features, "--vllm-version", "0.18.0")
    assert found == code
