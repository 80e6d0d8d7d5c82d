"""GitLab code quality: the whole document, and the fields that GitLab asks for."""

from __future__ import annotations

import json
from typing import Any

import built_assessments as build
import pytest
from small_report import TOO_LONG, small_report

from scheduler_reader.report.formats import gitlab
from scheduler_reader.report.report import Report
from scheduler_reader.rule_engine.finding import Finding

DOCUMENT = """\
[
  {
    "description": "MEM901 max_model_len is 16,384 and 8,192 fit. Fix: --max-model-len 8192; or a larger card",
    "check_name": "MEM901-made-up-error",
    "fingerprint": "6b6decc9f77cb7780f3db1365bc658d3",
    "severity": "blocker",
    "location": {
      "path": "serve.yaml",
      "lines": {
        "begin": 3
      }
    }
  },
  {
    "description": "MEM104 max_model_len is 16,384 and the longest request of the workload is 1,280 tokens. Fix: --max-model-len 2048",
    "check_name": "MEM104-oversized-context",
    "fingerprint": "910908cca8c06b2bdb2d98c67b31f16a",
    "severity": "info",
    "location": {
      "path": "serve.yaml",
      "lines": {
        "begin": 3
      }
    }
  },
  {
    "description": "broken.yaml:3:1: not YAML: found a tab",
    "check_name": "unreadable",
    "fingerprint": "dfb152ea4c970773abc0ca6381fa35fa",
    "severity": "blocker",
    "location": {
      "path": "broken.yaml",
      "lines": {
        "begin": 1
      }
    }
  }
]
"""


def entries(*findings: Finding) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        gitlab.render(Report.of([build.healthy(findings=findings)]))
    )
    return found


def test_the_whole_document() -> None:
    assert gitlab.render(small_report()) == DOCUMENT


def test_every_field_that_gitlab_requires_is_there() -> None:
    for entry in json.loads(gitlab.render(small_report())):
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not entry["location"]["path"].startswith(("/", "./"))
        assert entry["location"]["lines"]["begin"] >= 1


def test_a_fingerprint_outlives_lines_and_words() -> None:
    moved = TOO_LONG._replace(origin=build.at(40, 9), message="max_model_len is 1 and 2 fit.")
    other = TOO_LONG._replace(argument="max_num_seqs")
    (before,), (after,), (another,) = entries(TOO_LONG), entries(moved), entries(other)
    assert before["fingerprint"] == after["fingerprint"] != another["fingerprint"]


def test_fingerprints_are_unique() -> None:
    twice = entries(TOO_LONG, TOO_LONG._replace(origin=build.at(9)))
    assert len({entry["fingerprint"] for entry in twice}) == 2


@pytest.mark.parametrize(
    ("severity", "effect", "degree"),
    [
        ("error", "refused", "blocker"),
        ("error", "risk", "critical"),
        ("warning", "risk", "major"),
        ("note", "changed", "minor"),
        ("note", "advice", "info"),
    ],
)
def test_degrees(severity: Any, effect: Any, degree: str) -> None:
    (entry,) = entries(TOO_LONG._replace(severity=severity, effect=effect))
    assert entry["severity"] == degree
