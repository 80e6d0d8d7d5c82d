"""Whatever a file says, the terminal report stays readable, harmless and free of secrets."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

import built_assessments as build
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from scheduler_reader.report import terminal
from scheduler_reader.value import Known, Origin


def test_text_from_files_cannot_steer_the_terminal() -> None:
    hostile = "evil\x1b[31m\x1b]0;title\x07\x1b[2J[red]name[/red]\nSTARTS\r\x08\u202etxt"
    engine = build.engine(model_id=Known(hostile, build.at(2)), name="a\x9b31mb\x00")
    report = terminal.text([build.healthy(engine=engine)])
    assert report.startswith("evil[red]name[/red] STARTS txt  serve.yaml:1:1 (a31mb)\nvLLM")


def test_secrets_are_masked_wherever_they_are_quoted() -> None:
    engine = build.engine(
        build.settings(api_key=build.given(["topsecret-1", "topsecret-2"], 7, None)),
        env={"HF_TOKEN": Known("hunter22", Origin("environment"))},
    )
    findings = (
        build.finding(message="--api-kei topsecret-1 is unknown"),
        build.finding(message="HF_TOKEN=hunter22 and hf_abcdefghijklmnopqrstuvwx in the image"),
    )
    report = terminal.text([build.healthy(engine=engine, findings=findings)], width=100)
    assert "  *  api_key                    ***  line 7\n" in report
    assert "--api-kei *** is unknown" in report
    assert "HF_TOKEN=*** and *** in the image" in report
    assert "topsecret" not in report


def test_a_console_without_unicode_gets_plain_characters() -> None:
    raw = BytesIO()
    stream = TextIOWrapper(raw, encoding="ascii", errors="strict", newline="\n")
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)
    terminal.render(
        [build.healthy(engine=build.engine(model_id=Known("模型/8B", build.at(2))))], console
    )
    stream.flush()
    report = raw.getvalue().decode("ascii")
    assert report.startswith("??/8B  serve.yaml:1:1\n")
    assert "1 x NVIDIA H100" in report
    assert "201 ms - 223 ms" in report
    assert "  WWWWWWWWWWWWWWAAN" in report


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.text(max_size=200), st.sampled_from([60, 80]))
def test_any_text_stays_within_lines_and_without_control_characters(
    name: str, message: str, width: int
) -> None:
    engine = build.engine(model_id=Known(name, build.at(2)))
    finding = build.finding(message=message, why=message, severity="warning")
    report = terminal.text([build.healthy(engine=engine, findings=(finding,))], width=width)
    lines = report.split("\n")
    assert all(line.isprintable() for line in lines)
    assert max(cell_len(line) for line in lines) <= width
