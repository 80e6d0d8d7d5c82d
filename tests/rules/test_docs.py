"""The generated pages are what tools/docs.py writes, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from pages.flags import flag_pages
from pages.rules import rule_pages

import docs
from scheduler_reader.data import json_file
from scheduler_reader.rule_engine import all_rules


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return rule_pages() | flag_pages()


def test_the_pages_are_current(pages: dict[str, str]) -> None:
    written = {path: text for path, text in docs.written().items() if path not in docs.SINGLE}
    stale = sorted(path for path in {*pages, *written} if pages.get(path) != written.get(path))
    assert not stale, "run python tools/docs.py"


def test_every_rule_and_every_option_has_its_place(pages: dict[str, str]) -> None:
    assert {f"rules/{rule.code}.md" for rule in all_rules()} <= set(pages)
    headings = {
        line.removeprefix("## ").strip("`")
        for path, text in pages.items()
        if path.startswith("flags/")
        for line in text.splitlines()
        if line.startswith("## ")
    }
    assert headings == set(json_file("flags.json")["flags"])


def test_links_between_the_pages_lead_somewhere(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        for target in re.findall(r"\]\(([\w./-]+\.md)", text):
            parts: list[str] = []
            for part in (PurePosixPath(path).parent / target).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in pages, f"{path}: {target}"
