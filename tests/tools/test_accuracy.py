"""The accuracy page: errors as its introduction defines them, and the recorded runs still predicted."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest
import yaml
from pages.accuracy import accuracy_page, scatter
from pages.predictions import Case, outdone, predicted_cases
from pages.unstated_loads import unstated_loads

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


def test_a_run_is_outdone_by_a_heavier_one_that_was_faster():
    slow, light, heavy, longer = (
        Case("model, 1.0, card", 1, lengths, clients, measured, None, "")
        for lengths, clients, measured in (
            ((1024, 1024), 32, (166.0, 15.9)),
            ((1024, 1024), 16, (62.0, 5.8)),
            ((1024, 1024), 64, (116.0, 9.7)),
            ((1024, 8192), 64, (110.0, 9.5)),
        )
    )
    every = [slow, light, heavy, longer]
    expected = "64 concurrent, output 1,024: TTFT 116 ms, TPOT 9.7 ms"
    assert [outdone(case, every) for case in every] == [expected, "", "", ""]
    # 64 prompts of 62 ms in 921 gaps make 4.3 ms: so much may TPOT be above that of longer outputs.
    ends = [heavy._replace(measured=(116.0, tpot)) for tpot in (13.7, 13.9)]
    assert [bool(outdone(case, [case, light, longer])) for case in ends] == [False, True]


@pytest.mark.parametrize(("runs", "is_said"), [(9, True), (10, False)])
def test_more_than_a_tenth_of_odd_runs_decides_the_90th_percentile(runs, is_said):
    sound = [case((200.0, 10.0), (200.0, 10.0))] * (runs - 1)
    page = accuracy_page([*sound, case((200.0, 10.0), (9.0, 90.0))._replace(seats=8)], [])
    assert (f"hold 1 of the {runs} runs on card" in page) is is_said


def test_what_lies_between_the_ends_is_within():
    held = case((200.0, 10.0), (210.0, 12.0))._replace(low=(50.0, 11.0), high=(250.0, 13.0))
    assert held.is_within == (True, False, True)


def test_a_run_that_was_something_else_is_predicted_as_both(document):
    (series,) = [s for s in document["series"] if s["vllm"] == "0.11.2"]
    (found,) = predicted_cases({"series": [{**series, "runs": series["runs"][:1]}]})
    assert found.seats == 32 and found.waves is not None
    assert found.waves[0] == pytest.approx(found.measured[0], rel=0.1)
    assert found.waves[1] == pytest.approx(found.measured[1], rel=0.1)
    assert abs(found.errors[0]) > 0.5


def test_runs_whose_protocol_is_inferred_are_predicted_with_what_their_generator_writes(document):
    """Lengths alike keep requests in step, so TTFT does not depend on the output length."""
    (series,) = [s for s in document["series"] if s["source"] == "nvidia-gap"]
    runs = [run for run in series["runs"] if run[1] == 1024 and run[3] == 16]
    alike = predicted_cases({"series": [{**series, "runs": runs}]})
    spread = predicted_cases({"series": [{**series, "runs": runs, "shortest": 0.8}]})
    assert [case.gaps for case in alike] == [127, 511, 1023]
    assert all(abs(case.errors[0]) < 0.1 for case in alike)
    assert alike[0].predicted[0] == pytest.approx(alike[2].predicted[0], rel=0.01)
    assert spread[0].predicted[0] > 1.1 * spread[2].predicted[0]


def _two_runs(ttft_ms: float) -> str:
    """Sixteen at once, 20 s each, so a prompt takes at most 1.25 s; two at once that took `ttft_ms`."""
    common = {"series": "m, 0.18.0, H100", "tensor": 1, "predicted": (1.0, 1.0), "remark": ""}
    full = Case(lengths=(1000, 101), concurrency=16, measured=(2000.0, 18_000 / 89.9), **common)
    light = Case(lengths=(1000, 1000), concurrency=2, measured=(ttft_ms, 80.0), **common)
    (*_, said) = unstated_loads([full, light], {"so": [full, light]})
    return said


def test_what_ttft_could_be_without_meeting_follows_from_the_runs_alone():
    """2 x 1,250 ms of the 16,000 over which requests end: 1,250 alone, 40 of a step, 116 of waiting."""
    said = _two_runs(3000.0)
    assert "hold the engine no\nlonger than 1250 ms" in said
    assert "requests end over 16,000 ms, and their 2 successors need 16% of that" in said
    alone, burst = 1250 + 40 + 1250 * 0.15625 / 2 / 0.84375, 1.5 * 1250
    assert f"is about {0.9 * alone + 0.1 * burst:.0f} ms beside" in said
    assert "measured are 3000" in said


def test_the_plot_has_two_points_a_run():
    root = ElementTree.fromstring(scatter([case((200.0, 10.0), (100.0, 11.0))]))
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 2


def test_every_recorded_run_is_on_the_page(document):
    rows = sum(len(series["runs"]) for series in document["series"])
    page = (ROOT / "docs" / "accuracy.md").read_text()
    page = page[page.index(f"## {document['series'][0]['model']}") :]
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
