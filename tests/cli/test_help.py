"""What --help says: every command has an example, and the examples are right."""

from __future__ import annotations

import re
import shlex

import pytest

from scheduler_reader.cli import main, split_command
from scheduler_reader.cli.app import COMMANDS, application
from scheduler_reader.cli.help_text import paragraphs


def help_of(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_has_an_example_that_is_read(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.main import get_command

    shown = re.findall(
        rf"(?m)^ *(?:Examples?: )?(?:helm .* \| )?sched-reader {name} (?!\[)(.+)$",
        help_of(name, capsys, monkeypatch).partition("Usage:")[2].partition("\n")[2],
    )
    assert shown
    group = get_command(application())
    for words in shown:
        own, _ = split_command(shlex.split(words))
        with group.make_context("sched-reader", [name, *own]) as context:
            command = group.get_command(context, name)
            with command.make_context(name, own, parent=context):
                pass  # a wrong option or value is an error


def test_square_brackets_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Take [profile.NAME] of the settings file" in help_of("check", capsys, monkeypatch)


def test_paragraphs_fill_the_line_and_examples_stand_below_each_other() -> None:
    text = """Does one thing.

    It does
    more.

    Examples:

      sched-reader check a

      helm template x | sched-reader check -
    """
    assert paragraphs(text) == (
        "Does one thing.\n\nIt does more.\n\n"
        "Examples:\nsched-reader check a\nhelm template x | sched-reader check -"
    )


def test_an_argument_has_no_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = help_of("check", capsys, monkeypatch)
    assert "check [OPTIONS] [PATH]..." in shown


@pytest.mark.parametrize("name", [*COMMANDS, "list flags", "list rules", "settings show"])
def test_an_option_without_a_value_has_no_type(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = help_of(name, capsys, monkeypatch)
    assert re.search(r"--help +-h +Show this message and exit\.", shown)
    assert "<bool>" not in shown
