"""Formats as a whole: found by name, the same twice, and each described in docs/formats.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_report import hostile_report, small_report

from scheduler_reader.cli import main
from scheduler_reader.privacy import printable
from scheduler_reader.report import formats, places

DOCS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


def test_formats_are_found_by_name() -> None:
    assert formats.names() == (
        "github",
        "gitlab",
        "html",
        "json",
        "junit",
        "markdown",
        "sarif",
        "terminal",
        "text",
    )


@pytest.mark.parametrize("name", formats.names())
def test_two_runs_give_the_same(name: str) -> None:
    once, again = (formats.load(name).render(small_report()) for _ in range(2))
    assert once == again
    assert once.endswith("\n")


@pytest.mark.parametrize("name", formats.names())
def test_no_absolute_path_and_no_time(name: str) -> None:
    text = formats.load(name).render(small_report())
    assert str(Path.cwd()) not in text
    assert not re.search(r"\b20\d\d-\d\d-\d\d", text)


@pytest.mark.parametrize("name", formats.names())
def test_no_format_passes_a_control_sequence_on(name: str) -> None:
    assert "\x1b" not in formats.load(name).render(hostile_report())


@pytest.mark.parametrize("name", formats.names())
def test_no_line_orders_a_runner_about(name: str) -> None:
    lines = formats.load(name).render(hostile_report()).splitlines()
    orders = [line for line in lines if line.lstrip().startswith("::")]
    assert len(orders) == (2 if name == "github" else 0)
    assert not [line for line in lines if "##[" in line]


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("::error::x", ": :error::x"),
        ("  ::add-mask::x", "  : :add-mask::x"),
        ("a ::set-output name=b::c", "a : :set-output name=b::c"),
        ("##[group]x ##vso[task.x]", "## [group]x ## vso[task.x]"),
        ("std::vector and fe80::1", "std::vector and fe80::1"),
        ("## heading", "## heading"),
    ],
)
def test_a_command_of_a_runner_becomes_text(text: str, harmless: str) -> None:
    assert printable(text) == harmless


@pytest.mark.parametrize("name", formats.names())
def test_every_format_is_described(name: str) -> None:
    assert f"## {name}\n" in DOCS.read_text(encoding="utf-8")


def test_the_root_is_that_of_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "deploy"
    inner.mkdir(parents=True)
    assert places.repository_root(inner) == inner
    (tmp_path / "repository" / ".git").mkdir()
    assert places.repository_root(inner) == tmp_path / "repository"
    assert places.relative(f"{inner}/a.yaml", tmp_path / "repository") == "deploy/a.yaml"


def test_the_examples_are_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parents[1])
    text = DOCS.read_text(encoding="utf-8")
    command = re.search(r"`(check examples/.*?)`", text)
    assert command
    title = rf"^## (?:{'|'.join(formats.names())}|A format of your own)$"
    titles = [one[0].removeprefix("## ") for one in re.finditer(title, text, re.MULTILINE)]
    sections = dict(zip(titles, re.split(title, text, flags=re.MULTILINE)[1:], strict=True))
    examples = {
        name: re.findall(r"```\w+\n(.*?)```\n", section, re.DOTALL)
        for name, section in sections.items()
    }
    shown = {name: blocks for name, blocks in examples.items() if blocks}
    assert set(shown) == {"text", "sarif", "junit", "github", "gitlab", "markdown"}
    for name, blocks in shown.items():
        with pytest.raises(SystemExit):
            main([*command[1].split(), "--format", name])
        assert blocks[0] in capsys.readouterr().out
