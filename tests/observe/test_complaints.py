"""Public reports of slow servers: the verdict agrees with what their source concludes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.complaints import Read, complaints_page, read_complaints


@pytest.fixture(scope="module")
def read() -> tuple[Read, ...]:
    return tuple(read_complaints())


def test_the_verdicts_on_public_complaints(read: tuple[Read, ...]) -> None:
    assert {one.reported["name"]: one.verdict.kind for one in read} == {
        "vision model, ten tokens a second": "not_scheduler",
        "Kimi K2 at 100 requests/s": "saturated",
        "DeepSeek R1 with steps of 32,768 tokens": "chunk_too_large",
    }
    assert all(one.agrees for one in read)


def test_a_verdict_quotes_what_was_observed(read: tuple[Read, ...]) -> None:
    evidence = {one.reported["name"]: one.verdict.evidence[0] for one in read}
    assert "9.8 output tokens/s" in evidence["vision model, ten tokens a second"]
    assert evidence["Kimi K2 at 100 requests/s"].startswith(
        "100 requests/s were sent and 1.25 served"
    )


def test_the_page_is_current(read: tuple[Read, ...]) -> None:
    written = (Path(__file__).parents[2] / "docs" / "complaints.md").read_text(encoding="utf-8")
    assert complaints_page(read)["complaints.md"] == written, "run python tools/docs.py"
