"""Every command block of the README and the documentation runs, and prints what stands below it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.blocks import blocks
from pages.commands import ROOT, with_outputs
from pages.excerpt import excerpt

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_outputs(text) == text, "run python tools/docs.py"


def test_the_pages_of_rules_and_flags_have_no_commands() -> None:
    pages = (ROOT / "docs").glob("*/*.md")
    assert [page for page in pages if "```sh" in page.read_text(encoding="utf-8")] == []


def test_a_page_says_what_a_block_is() -> None:
    page = "<!-- exit 1 -->\n```sh\nfalse\n```\n\n```text\n```\n\n<!-- set up: a GPU -->\n<!-- x -->\n```sh\nsmi\n```\n"
    fails, set_up = blocks(page)
    assert (fails.commands, fails.exit_code, fails.set_up) == ("false\n", 1, None)
    assert fails.output == (6, 6)
    assert (set_up.line, set_up.set_up, set_up.output) == (11, "a GPU", None)
    with pytest.raises(ValueError, match="line 1: a block of commands is ```sh"):
        blocks("```console\n$ true\n```\n")


def test_an_output_is_written_anew() -> None:
    page = "```sh\necho one; echo two\n```\n\n```text\nold\n```\n"
    assert with_outputs(page) == page.replace("old", "one\ntwo")
    shortened = page.replace("old", "…\ntwo")
    assert with_outputs(shortened) == shortened


@pytest.mark.parametrize(
    ("commands", "error"),
    [
        ("exit 1", "exit 1\nended with 1, not 0"),
        ("sched-reader diagnose no-such.yaml", "ended with 3, not 0: .*no-such.yaml"),
        ("echo three", "it no longer prints, after line 0: one"),
        ("echo one; echo two", "it prints more: two"),
    ],
)
def test_a_page_that_is_wrong_is_found(commands: str, error: str) -> None:
    with pytest.raises(RuntimeError, match=f"(?s)line 1: .*{error}"):
        with_outputs(f"```sh\n{commands}\n```\n\n```text\n…\none\n```\n")


def test_an_excerpt_keeps_lines_and_renews_figures() -> None:
    printed = ["KV cache  1,000 tokens", "", "a", "b  12 ms", "c"]
    assert excerpt(["KV cache  900 tokens", "…", "b 9.5 ms", "…"], printed) == [
        printed[0], "…", printed[3], "…",
    ]  # fmt: skip
    assert excerpt(["all of it"], printed) == printed
    with pytest.raises(ValueError, match="after line 1: b"):
        excerpt(["KV cache 1 tokens", "b 9 ms", "…"], printed)
