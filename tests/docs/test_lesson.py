"""The lesson's page: every command runs, and what stands under it is what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.claims import claims_page
from pages.commands import commands, output
from pages.lesson import lesson_page

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "lesson.md").read_text(encoding="utf-8")


def test_the_outputs_are_those_of_the_commands(page: str) -> None:
    assert lesson_page()["lesson.md"] == page, "run python tools/docs.py"


def test_every_command_has_its_output_under_it(page: str) -> None:
    assert page.count("```sh\n") == len(commands(page)) == page.count("```text\n") >= 10
    assert "```text\n```" not in page


def test_the_quoted_figures_are_current() -> None:
    written = (DOCS / "claims.md").read_text(encoding="utf-8")
    assert claims_page()["claims.md"] == written, "run python tools/docs.py"


def test_what_the_prose_says_of_the_outputs() -> None:
    """The prose names no figure, but it says which way they go."""
    page = (DOCS / "lesson.md").read_text(encoding="utf-8")
    mixed, equal, *_ = (output(command) for command in commands(page))
    words = " ".join(mixed.split())
    assert "of the engine time saved a token from decode" in words
    assert "of the computed tokens were padding" in words
    static, continuous = _tokens_per_s(equal, "static batches"), _tokens_per_s(equal, "continuous")
    assert continuous == pytest.approx(static, rel=0.05)
    assert _tokens_per_s(mixed, "continuous") > 3 * _tokens_per_s(mixed, "static batches")


def _tokens_per_s(printed: str, mode: str) -> float:
    for line in printed.splitlines():
        if line.startswith(f"{mode}  "):
            return float(line.removeprefix(mode).split()[0].replace(",", ""))
    raise AssertionError(f"{mode} is not in {printed}")
