"""What the README names is there, and what is there is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scheduler_reader.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_has_every_command() -> None:
    table = README.partition("## Commands")[2].partition("## ")[0]
    assert set(re.findall(r"(?m)^\| `([a-z]+)", table)) == set(COMMANDS)


def test_every_measuring_command_is_in_the_development_section() -> None:
    section = README.partition("## Development")[2].partition("## ")[0]
    measuring = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    assert measuring <= set(re.findall(r"benchmarks/(\w+\.py)", section))
    for path in re.findall(r"python ((?:tools|benchmarks)/\S+\.py)", section):
        assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
