"""Which releases read which variables."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from scheduler_reader.knowledge.environment import UnreadReason, why_unread
from scheduler_reader.knowledge.versions import Release

TOOL = Path(__file__).resolve().parents[2] / "tools" / "extract_environment.py"


@pytest.mark.parametrize(
    ("name", "release", "reason"),
    [
        ("VLLM_USE_V1", "0.11.0", None),
        ("VLLM_USE_V1", "0.11.1", None),  # not looked at; 0.11.2 is
        ("VLLM_USE_V1", "0.11.2", UnreadReason("gone", "0.11.0")),
        ("VLLM_ATTENTION_BACKEND", "0.14.1", None),
        ("VLLM_ATTENTION_BACKEND", "0.16.0", None),
        ("VLLM_ATTENTION_BACKEND", "0.18.0", UnreadReason("gone", "0.14.1", "--attention-backend")),
        ("VLLM_USE_V2_MODEL_RUNNER", "0.10.2", UnreadReason("not_yet", "0.12.0")),
        ("VLLM_USE_V2_MODEL_RUNNER", "0.33.0", None),
        ("VLLM_SKIP_WARMUP", "0.33.0", None),  # a plugin reads it
        ("VLLM_NO_SUCH_THING", "0.33.0", None),
        ("VLLM_LOGGING_LEVEL", "0.6.0", None),  # older than what was looked at
    ],
)
def test_why_a_release_does_not_read_a_variable(
    name: str, release: str, reason: UnreadReason | None
) -> None:
    assert why_unread(name, Release(release)) == reason


def test_the_extractor_reads_names_without_importing(tmp_path: Path) -> None:
    tool = runpy.run_path(str(TOOL))
    package = tmp_path / "vllm" / "v1"
    package.mkdir(parents=True)
    (package / "a.py").write_text('raise SystemExit\nx = os.getenv("VLLM_ONE")\n')
    (tmp_path / "vllm" / "b.py").write_text("if envs.VLLM_TWO:\n    pass  # VLLM_NOT_THIS\n")
    read = tool["variables_of"](tmp_path)
    assert read == {"VLLM_ONE", "VLLM_TWO"}
    before = tool["extended"]({}, {"0.9.0": {"VLLM_ONE"}, "0.11.0": {"VLLM_ONE"}})
    after = tool["extended"](before, {"0.10.0": read})
    assert after["releases"] == ["0.9.0", "0.10.0", "0.11.0"]
    assert after["variables"] == {
        "VLLM_ONE": [["0.9.0", "0.11.0"]],
        "VLLM_TWO": [["0.10.0", "0.10.0"]],
    }
