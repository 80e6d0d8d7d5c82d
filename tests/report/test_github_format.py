"""GitHub annotations, read by a small parser of the runner's own grammar, and the job's summary."""

from __future__ import annotations

import re

import built_assessments as build
from small_report import HOSTILE, TOO_LONG, hostile_report, small_report

from scheduler_reader.report.formats import github
from scheduler_reader.report.report import Report

COMMANDS = """\
::error file=broken.yaml,title=not read::broken.yaml:3:1: not YAML: found a tab
::error file=serve.yaml,line=3,col=1,title=MEM901 made-up-error::max_model_len is 16,384 and 8,192 fit.%0AFix: --max-model-len 8192; or a larger card
::notice file=serve.yaml,line=3,col=1,title=MEM104 oversized-context::max_model_len is 16,384 and the longest request of the workload is 1,280 tokens.%0AFix: --max-model-len 2048
"""
SUMMARY = """\
## sched-reader

2 findings in 1 file.

- not read: broken.yaml:3:1: not YAML: found a tab

|  | where | rule | what | fix |
| --- | --- | --- | --- | --- |
| error | `serve.yaml:3:1` | MEM901 made-up-error | max\\_model\\_len is 16,384 and 8,192 fit. | --max-model-len 8192; or a larger card |
| note | `serve.yaml:3:1` | MEM104 oversized-context | max\\_model\\_len is 16,384 and the longest request of the workload is 1,280 tokens. | --max-model-len 2048 |
"""


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """As the runner reads a log: `::name key=value,…::data`, with its escapes undone."""
    commands = []
    for line in text.splitlines():
        match = re.fullmatch(r"::([a-z-]+)(?: ([^:]*))?::(.*)", line)
        assert match, line
        pairs = dict(pair.split("=", 1) for pair in (match[2] or "").split(","))
        plain = {name: _undone(value) for name, value in pairs.items()}
        commands.append((match[1], plain, _undone(match[3])))
    return commands


def _undone(text: str) -> str:
    for code, character in {
        "%3A": ":", "%2C": ",", "%0D": "\r", "%0A": "\n", "%25": "%",
    }.items():  # fmt: skip
        text = text.replace(code, character)
    return text


def test_the_whole_output() -> None:
    assert github.render(small_report()) == COMMANDS
    assert github.summary(small_report()) == SUMMARY


def test_a_parser_gets_back_what_was_said() -> None:
    finding = TOO_LONG._replace(message="100% of 8, or 9: all", fix={}, fix_text="")
    report = Report.of([build.healthy(engine=build.engine(name="a"), findings=(finding,))])
    assert read(github.render(report)) == [
        (
            "error",
            {"file": "serve.yaml", "line": "3", "col": "1", "title": "MEM901 made-up-error"},
            "a: 100% of 8, or 9: all",
        )
    ]


def test_the_ten_worst_come_first() -> None:
    notes = [build.finding(origin=build.at(line)) for line in range(1, 12)]
    findings = (*notes, TOO_LONG)
    report = Report.of([build.healthy(findings=findings)])
    commands = read(github.render(report))
    assert [name for name, _, _ in commands] == ["error", *["notice"] * 9]
    assert "12 findings in 1 file. The 10 worst are annotated." in github.summary(report)
    assert github.summary(report).count("MEM104") == 11


def test_text_of_files_starts_no_command() -> None:
    commands = read(github.render(hostile_report()))
    assert [name for name, _, _ in commands] == ["error", "error"]
    for _, properties, text in commands:
        for said in (*properties.values(), text):
            assert "::" not in said.replace("x::y", "")
            assert "##[" not in said
            assert "\x1b" not in said
    lines = github.summary(hostile_report()).splitlines()
    assert not [line for line in lines if line.startswith("::") or "##[" in line]


def test_line_ends_do_not_end_a_command() -> None:
    finding = TOO_LONG._replace(message=f"one\n::error::{HOSTILE}\r\n::stop-commands::x")
    text = github.render(Report.of([build.healthy(findings=(finding,))]))
    assert text.count("\n") == 1


def test_without_findings_there_is_nothing() -> None:
    report = Report.of([build.healthy(findings=())])
    assert github.render(report) == ""
    assert github.summary(report) == "## sched-reader\n\nNo findings.\n"
