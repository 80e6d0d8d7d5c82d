"""The lesson's page: what its prose says of the outputs, and the tables that are written for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.blocks import blocks
from pages.claims import claims_page
from pages.lesson import with_corrections

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "lesson.md").read_text(encoding="utf-8")


def test_the_table_of_corrections_is_current(page: str) -> None:
    assert with_corrections(page) == page, "run python tools/docs.py"


def test_every_command_has_its_output_under_it(page: str) -> None:
    assert len(blocks(page)) >= 10
    assert all(block.output and block.output.first < block.output.end for block in blocks(page))


def test_the_quoted_figures_are_current() -> None:
    written = (DOCS / "claims.md").read_text(encoding="utf-8")
    assert claims_page()["claims.md"] == written, "run python tools/docs.py"


def test_what_the_prose_says_of_the_outputs(page: str) -> None:
    """The prose names no figure, but it says which way they go."""
    lines = page.splitlines()
    mixed, equal = (
        lines[block.output.first : block.output.end] for block in blocks(page)[:2] if block.output
    )
    words = " ".join(" ".join(mixed).split())
    assert "the engine time saved per token is" in words
    assert "of the computed tokens were padding" in words
    static, continuous = _tokens_per_s(equal, "static batches"), _tokens_per_s(equal, "continuous")
    assert continuous == pytest.approx(static, rel=0.05)
    assert _tokens_per_s(mixed, "continuous") > 3 * _tokens_per_s(mixed, "static batches")


def _tokens_per_s(printed: list[str], mode: str) -> float:
    for line in printed:
        if line.startswith(f"{mode}  "):
            return float(line.removeprefix(mode).split()[0].replace(",", ""))
    raise AssertionError(f"{mode} is not in {printed}")
