"""Findings accepted in the file: where a remark stands, what it says, and what is wrong with it."""

from __future__ import annotations

import pytest

from scheduler_reader.assessment import Checked
from scheduler_reader.gate.controls import Controls
from scheduler_reader.gate.judgement import Judgement, judge
from scheduler_reader.parse import parse_text
from scheduler_reader.pipeline import Request, check
from scheduler_reader.rule_engine.selection import read_selection

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: llm{annotation}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.18.0
      args:
        {above}
        - --model=Qwen/Qwen3-8B
        - --zzz=1  {behind}
        - --swap-space{flag}
        - "4"
"""


def judged(text: str, path: str, select: str = "FLG,GAT") -> Judgement[Checked]:
    file = parse_text(text, path)
    request = Request(rules=read_selection([select], []))
    found = [check(engine, request) for engine in file.readable]
    return judge([file], found, request, Controls())


def of_pod(**parts: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The codes that count, and those that do not with the reason."""
    places = {"annotation": "", "above": "# above", "behind": "", "flag": ""}
    (engine,) = judged(POD.format(**places | parts), "pod.yaml").engines
    return (
        [finding.code for finding in engine.findings],
        [(one.finding.code, one.suppression.reason) for one in engine.suppressed],
    )


def test_without_a_remark_all_count() -> None:
    assert of_pod() == (["FLG001", "FLG002"], [])


@pytest.mark.parametrize(
    ("parts", "counting", "accepted"),
    [
        (
            {"behind": "# sched-reader: ignore[FLG001] a plugin's"},
            ["FLG002"],
            [("FLG001", "a plugin's")],
        ),
        ({"flag": "  # sched-reader: ignore[FLG002]: old"}, ["FLG001"], [("FLG002", "old")]),
        (
            {"above": "# sched-reader: ignore[FLG001, flg002] both"},
            [],
            [("FLG001", "both"), ("FLG002", "both")],
        ),
        (
            {"above": "# sched-reader: ignore[FLG] a prefix"},
            [],
            [("FLG001", "a prefix"), ("FLG002", "a prefix")],
        ),
        (
            {"behind": "# sched-reader: ignore-file[FLG002] all of it"},
            ["FLG001"],
            [("FLG002", "all of it")],
        ),
        (
            {
                "annotation": '\n  annotations: {sched-reader/ignore: "FLG001: a; b: d; MEM, FLG002: c"}'
            },
            [],
            [("FLG001", "a; b: d"), ("FLG002", "c")],
        ),
    ],
)
def test_a_remark_accepts_what_stands_there(
    parts: dict[str, str], counting: list[str], accepted: list[tuple[str, str]]
) -> None:
    assert of_pod(**parts) == (counting, accepted)


@pytest.mark.parametrize(
    ("remark", "code"),
    [
        ("# sched-reader: ignore[FLG001]", "GAT001"),
        ("# sched-reader: ignore[FLX] a typing error", "GAT002"),
        ("# sched-reader: ignore[FLG001,???] no code", "GAT002"),
        ("# sched-reader: ignore[FLG003] not here", "GAT003"),
        ("# sched-reader: disable=FLG001", "GAT004"),
        ("# sched-reader: ignore FLG001 no brackets", "GAT004"),
    ],
)
def test_what_is_wrong_with_a_remark_is_a_finding(remark: str, code: str) -> None:
    (engine,) = judged(
        POD.format(annotation="", above="#", behind=remark, flag=""), "pod.yaml"
    ).engines
    (finding,) = [finding for finding in engine.findings if finding.code.startswith("GAT")]
    assert finding.code == code
    assert finding.origin is not None
    assert finding.origin.place == "pod.yaml:12:20"


def test_a_prose_mention_is_no_remark() -> None:
    counting, _ = of_pod(behind="# see sched-reader: it explains the flag")
    assert counting == ["FLG001", "FLG002"]


def test_unused_is_only_said_of_rules_that_were_evaluated() -> None:
    remark = "# sched-reader: ignore[CHK101] predicted elsewhere"  # nothing is predicted here
    assert of_pod(behind=remark)[0] == ["FLG001", "FLG002"]
    text = POD.format(annotation="", above="#", behind=remark, flag="")
    (engine,) = judged(text, "pod.yaml", select="CHK,GAT").engines
    assert engine.findings == ()


def test_unused_is_not_said_of_rules_that_a_refused_engine_does_not_reach() -> None:
    text = "model: Qwen/Qwen3-32B\nmax-model-len: {}  # sched-reader: ignore[MEM107] may wait\n"
    for length, codes in ((8192, ["GAT003"]), (40960, ["MEM103"])):
        judged_file = judged(text.format(length), "serve.yaml", select="MEM103,MEM107,GAT")
        assert [f.code for f in judged_file.engines[0].findings] == codes


def test_a_remark_about_remarks_is_none() -> None:
    counting, accepted = of_pod(behind="# sched-reader: ignore[GAT,FLG001]")
    assert (counting.count("GAT001"), accepted) == (2, [])


def test_only_the_engine_below_a_comment_is_meant() -> None:
    script = (
        "# sched-reader: ignore[FLG] the first\nvllm serve a \\\n  --zzz\n\nvllm serve b --zzz\n"
    )
    first, second = judged(script, "serve.sh").engines
    assert ([f.code for f in first.findings], [f.code for f in second.findings]) == ([], ["FLG001"])


def test_a_refused_engine_does_not_start_because_somebody_accepts_it() -> None:
    from scheduler_reader.pipeline import assess
    from scheduler_reader.report.wording import start_verdict

    file = parse_text("model: Qwen/Qwen3-8B\nzzz: 1  # sched-reader: ignore[FLG001] x\n", "c.yaml")
    request = Request()
    (engine,) = judge([file], [assess(file.engines[0], request)], request, Controls()).engines
    assert engine.suppressed
    assert start_verdict(engine)[0] is False
