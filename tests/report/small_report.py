"""A report with one of everything: what fails, what does not, what was accepted, what was not read."""

from __future__ import annotations

from typing import Any

import built_assessments as build

from scheduler_reader.assessment import Judged
from scheduler_reader.report.report import Report
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.rule_engine.finding import Finding, Suppressed, Suppression
from scheduler_reader.tune.remedy import Edit
from scheduler_reader.value import Origin

LONG_CONTEXT = build.finding()
TOO_LONG = build.finding(
    code="MEM901",
    name="made-up-error",
    severity="error",
    effect="refused",
    message="max_model_len is 16,384 and 8,192 fit.",
    why="vLLM exits.",
    fix={"max_model_len": 8192},
    fix_text="or a larger card",
    argument="max_model_len",
)
ACCEPTED = Suppressed(
    build.finding(code="PRF901", name="made-up-warning", severity="warning", message="Slow."),
    Suppression("comment", "measured, fast enough", build.at(2, 20)),
)
UNREADABLE = Unreadable("broken.yaml", "broken.yaml:3:1: not YAML: found a tab")
HOSTILE = '<script>alert(1)</script> `a|b` @octocat #12 ::error file=x::y ##[group]z https://x.example "&\x1b[31m'


def edit_of(judged: Judged, finding: Finding) -> Edit | None:
    if finding is not TOO_LONG:
        return None
    return Edit("serve.yaml", (3, 16), (3, 21), "8192")


def small_report(**changes: Any) -> Report:
    """One engine with an error that an edit puts right, a note and an accepted warning."""
    engine = build.healthy(findings=(TOO_LONG, LONG_CONTEXT), suppressed=(ACCEPTED,))
    values: dict[str, Any] = {
        "judged": [engine],
        "unreadable": [UNREADABLE],
        "assess": lambda: [engine],
        "edit": edit_of,
        **changes,
    }
    return Report(**values)


def hostile_report() -> Report:
    """Names, messages and reasons that mean something to terminals, pages and CI runners."""
    finding = build.finding(
        code="FLG901",
        name="made-up-hostile",
        severity="error",
        message=HOSTILE,
        why=HOSTILE,
        fix_text=HOSTILE,
        origin=Origin("file", path=f"{HOSTILE[:40]}.yaml", line=1, column=1),
        argument=HOSTILE,
    )
    accepted = Suppressed(finding, Suppression("baseline", HOSTILE, Origin("file", path="b.json")))
    engine = build.healthy(
        engine=build.engine(name=HOSTILE), findings=(finding,), suppressed=(accepted,)
    )
    return Report.of([engine], [Unreadable(HOSTILE, f"{HOSTILE}: not read")])
