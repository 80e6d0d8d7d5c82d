"""JUnit: the whole document, and what an independent reader makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_report import hostile_report, small_report

from scheduler_reader.report.formats import junit

DOCUMENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="sched-reader" tests="6" failures="1" errors="1" skipped="2">
  <testsuite name="serve.yaml" tests="5" failures="1" errors="0" skipped="2">
    <testcase name="read as vLLM 0.18.0 on h100-sxm" classname="serve.yaml" />
    <testcase name="MEM901 made-up-error (max_model_len)" classname="serve.yaml" file="serve.yaml" line="3">
      <failure message="max_model_len is 16,384 and 8,192 fit." type="error">serve.yaml:3:1: max_model_len is 16,384 and 8,192 fit.
vLLM exits.
--max-model-len 8192; or a larger card</failure>
    </testcase>
    <testcase name="MEM104 oversized-context" classname="serve.yaml" file="serve.yaml" line="3">
      <system-out>serve.yaml:3:1: max_model_len is 16,384 and the longest request of the workload is 1,280 tokens.
A smaller limit makes the start-up check independent of the worst case.
--max-model-len 2048</system-out>
    </testcase>
    <testcase name="PRF901 made-up-warning" classname="serve.yaml" file="serve.yaml" line="3">
      <skipped message="comment: measured, fast enough" />
    </testcase>
    <testcase name="not evaluated: OBS101" classname="serve.yaml">
      <skipped message="observed metrics (--metrics)" />
    </testcase>
  </testsuite>
  <testsuite name="broken.yaml" tests="1" failures="0" errors="1" skipped="0">
    <testcase name="read" classname="broken.yaml">
      <error message="broken.yaml:3:1: not YAML: found a tab" type="unreadable" />
    </testcase>
  </testsuite>
</testsuites>
"""


def test_the_whole_document() -> None:
    assert junit.render(small_report()) == DOCUMENT


def test_an_independent_reader_counts_the_same(tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    file = tmp_path / "junit.xml"
    file.write_text(junit.render(small_report()), encoding="utf-8")
    document = junitparser.JUnitXml.fromfile(str(file))
    assert (document.tests, document.failures, document.errors, document.skipped) == (6, 1, 1, 2)
    suites = list(document)
    assert [suite.name for suite in suites] == ["serve.yaml", "broken.yaml"]
    results = {case.name: [type(one).__name__ for one in case.result] for case in suites[0]}
    assert results == {
        "read as vLLM 0.18.0 on h100-sxm": [],
        "MEM901 made-up-error (max_model_len)": ["Failure"],
        "MEM104 oversized-context": [],
        "PRF901 made-up-warning": ["Skipped"],
        "not evaluated: OBS101": ["Skipped"],
    }
    assert [type(one).__name__ for case in suites[1] for one in case.result] == ["Error"]


def test_text_of_files_is_text(tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    text = junit.render(hostile_report())
    assert "\x1b" not in text
    assert "<script>" not in text
    (first, *_), *_ = [list(suite) for suite in junitparser.JUnitXml.fromstring(text.encode())]
    assert first.name.startswith("<script>alert(1)</script> `a|b` @octocat")
