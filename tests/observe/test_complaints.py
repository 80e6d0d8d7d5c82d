"""Public reports of slow servers: what each states leads to what its source concludes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.complaints import Read, complaints_page, read_complaints


@pytest.fixture(scope="module")
def read() -> tuple[Read, ...]:
    return tuple(read_complaints())


def test_the_reports_that_the_reading_was_made_with(read: tuple[Read, ...]) -> None:
    known = {one.reported["name"]: one.kind for one in read if one.group == "known"}
    assert known == {
        "vision model, ten tokens a second": "not_scheduler",
        "Kimi K2 at 100 requests/s": "saturated",
        "DeepSeek R1 with steps of 32,768 tokens": "chunk_too_large",
    }


def test_four_of_five_further_reports_are_read_as_their_sources_conclude(
    read: tuple[Read, ...],
) -> None:
    further = [one for one in read if one.group != "known"]
    assert len(further) >= 35
    assert sum(one.agrees() for one in further) >= 0.8 * len(further)
    disagreeing = [one.reported["name"] for one in further if not one.agrees()]
    argued = [one.reported["name"] for one in further if "argument" in one.reported]
    assert set(disagreeing) <= set(argued)


def test_a_first_verdict_is_kept_as_it_was(read: tuple[Read, ...]) -> None:
    agreed = {
        group: [one.agrees(one.first) for one in read if one.group == group]
        for group in ("further", "second", "third")
    }
    assert {group: (sum(found), len(found)) for group, found in agreed.items()} == {
        "further": (8, 19),
        "second": (2, 7),
        "third": (0, 9),
    }


def test_a_verdict_quotes_what_was_stated(read: tuple[Read, ...]) -> None:
    evidence = {one.reported["name"]: one.evidence[0] for one in read}
    assert "9.8 output tokens/s" in evidence["vision model, ten tokens a second"]
    assert evidence["DeepSeek R1 with steps of 32,768 tokens"].startswith("ITL p99 is 1,000 ms")
    assert evidence["Kimi K2 at 100 requests/s"].startswith(
        "100 requests/s were sent and 1.25 served"
    )


def test_the_page_is_current(read: tuple[Read, ...]) -> None:
    written = (Path(__file__).parents[2] / "docs" / "complaints.md").read_text(encoding="utf-8")
    assert complaints_page(read)["complaints.md"] == written, "run python tools/docs.py"
