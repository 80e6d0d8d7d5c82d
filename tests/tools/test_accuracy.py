"""The accuracy page: errors as its introduction defines them, and the recorded runs still predicted."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest
import yaml
from pages.accuracy import Case, accuracy_page, predicted_cases, scatter

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def document():
    return yaml.safe_load((ROOT / "tests/performance/published_runs.yaml").read_text())


def case(measured, predicted, remark=""):
    return Case("model, 1.0, card", 1, (100, 100), 8, measured, predicted, remark)


def test_errors_are_relative_to_what_was_measured():
    ttft, tpot, rate = case((200.0, 10.0), (100.0, 11.0)).errors
    assert (ttft, tpot) == (pytest.approx(-0.5), pytest.approx(0.1))
    # 90 tokens: 200 + 89 * 10 = 1,090 ms against 100 + 89 * 11 = 1,079 ms
    assert rate == pytest.approx(1090 / 1079 - 1)


def test_a_run_without_prediction_counts_as_unanswered():
    page = accuracy_page([case((200.0, 10.0), (100.0, 11.0)), case((1.0, 1.0), None, "why")], [])
    assert "| model, 1.0, card | 1 | 1 of 2 | 50.0% / 50.0% | 10.0% / 10.0% |" in page
    assert "| none | 1.0 | none | why |" in page


def test_the_plot_has_two_points_a_run():
    root = ElementTree.fromstring(scatter([case((200.0, 10.0), (100.0, 11.0))]))
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 2


def test_every_recorded_run_is_on_the_page(document):
    rows = sum(len(series["runs"]) for series in document["series"])
    page = (ROOT / "docs" / "accuracy.md").read_text()
    assert sum(line.count(" | ") == 7 for line in page.splitlines() if line[:3] != "| T") == rows


def test_a_sample_of_the_runs_is_predicted_as_well_as_the_page_says(document):
    sample = [
        {**series, "runs": series["runs"][2::6]}
        for series in document["series"]
        if series["vllm"] in ("0.10.2", "0.18.0")
    ]
    errors = [found.errors for found in predicted_cases({"series": sample})]
    assert all(error is not None for error in errors)
    assert median(abs(error[1]) for error in errors) < 0.06
    assert median(abs(error[2]) for error in errors) < 0.06
