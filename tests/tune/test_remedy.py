"""What a finding proposes, as one replacement in the file."""

from __future__ import annotations

import pytest

from scheduler_reader.parse import parse_text
from scheduler_reader.pipeline import Request, check
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.tune.remedy import Edit, difference, remedy_edit

SCRIPT = (
    "vllm serve Qwen/Qwen3-8B \\\n  --max-num-seqs 64 --max-model-len 4096 \\\n  --swap-space 4\n"
)
CONFIG = "model: Qwen/Qwen3-8B\nmax-num-seqs: 64  # of two replicas\nenforce-eager: true\n"
FINDING = Finding("MEM901", "made-up", "note", "high", "advice", "m", "w", "s")


def applied(text: str, edit: Edit) -> str:
    """The text after the replacement, by lines and columns, as an editor would do it."""
    lines = text.splitlines(keepends=True)
    (first, left), (last, right) = edit.start, edit.end
    before = "".join(lines[: first - 1]) + lines[first - 1][: left - 1]
    rest = lines[last - 1][right - 1 :] + "".join(lines[last:]) if last <= len(lines) else ""
    return before + edit.text + rest


def changed(text: str, path: str, finding: Finding, release: str = "0.18.0") -> str | None:
    (engine,) = parse_text(text, path).engines
    judged = check(engine, Request(target=ResolveOptions(release, "h100-sxm")))
    if finding.code.startswith("FLG"):
        finding = next(one for one in judged.findings if one.code == finding.code)
    edit = remedy_edit(text, path, judged.engine, finding)
    return None if edit is None else applied(text, edit)


@pytest.mark.parametrize(
    ("text", "path", "fix", "after"),
    [
        (SCRIPT, "a.sh", {"max_num_seqs": 32}, SCRIPT.replace("seqs 64", "seqs 32")),
        (SCRIPT, "a.sh", {"max_model_len": None}, SCRIPT.replace(" --max-model-len 4096", "")),
        (CONFIG, "a.yaml", {"max_num_seqs": 32}, CONFIG.replace("64", "32")),
        (CONFIG, "a.yaml", {"enforce_eager": None}, CONFIG.replace("enforce-eager: true\n", "")),
    ],
)
def test_the_proposed_setting_is_written(
    text: str, path: str, fix: dict[str, object], after: str
) -> None:
    assert changed(text, path, FINDING._replace(fix=fix)) == after


def test_an_option_that_is_gone_is_taken_out() -> None:
    gone = FINDING._replace(code="FLG002")
    assert changed(SCRIPT, "a.sh", gone) == SCRIPT.replace(" \\\n  --swap-space 4", "")


def test_what_cannot_be_edited_safely_is_left() -> None:
    text = "LEN=64\nvllm serve Qwen/Qwen3-8B --max-num-seqs $LEN --swap-space $LEN\n"
    assert changed(text, "a.sh", FINDING._replace(fix={"max_num_seqs": None})) != text
    assert changed(text, "a.sh", FINDING._replace(fix={"max_model_len": None})) is None
    assert changed(text, "a.sh", FINDING) is None


def test_the_replacement_is_the_smallest() -> None:
    edit = difference("a", "one\ntwo three\nfour\n", "one\ntwo 3\nfour\n")
    assert edit == Edit("a", (2, 5), (2, 10), "3")
    assert difference("a", "x", "x") is None
