"""`schema` as it is typed."""

from __future__ import annotations

import json

import pytest

from scheduler_reader.cli import main
from scheduler_reader.knowledge.versions import releases


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "release", "says"),
    [
        ((), releases()[-1], ""),
        (("--vllm-version", "v0.18.0"), "0.18.0", ""),
        (("--vllm-version", "0.18.1rc1"), "0.18.1", "vLLM 0.18.1rc1 is read as 0.18.1"),
    ],
)
def test_the_release_is_the_one_asked_for(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], release: str, says: str
) -> None:
    code, out, err = run(capsys, "schema", *arguments)
    assert code == 0
    assert json.loads(out)["title"] == f"vllm serve --config, vLLM {release}"
    assert says in err


def test_what_is_no_version_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "schema", "--vllm-version", "newest")
    assert (code, out) == (2, "")
