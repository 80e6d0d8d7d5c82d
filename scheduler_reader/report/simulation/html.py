"""The timeline as one HTML file that needs nothing else: zoom, hover, light and dark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from scheduler_reader.report.simulation.rows import HEAD, cells
from scheduler_reader.report.wording import workload_text
from scheduler_reader.simulate.comparison import TITLES
from scheduler_reader.simulate.modes import ModeRun
from scheduler_reader.simulate.result import Phase, RequestRecord
from scheduler_reader.simulate.study import Study

KINDS = ("waiting", "prefill", "decode", "preempted")
_DATA = "/*DATA*/"


def render(title: str, study: Study) -> str:
    """The page of the runs whose timeline was kept."""
    page = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    data = {
        "title": title,
        "subtitle": workload_text(study.setup.workload),
        "columns": ["", *HEAD],
        "sentences": [*study.sentences, *(f"note: {note}" for note in study.notes)],
        "runs": [_run(run) for run in study.runs],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":  # nothing in the data can end the script element
        text = text.replace(character, f"\\u{ord(character):04x}")
    return page.replace(_DATA, text)


def _run(run: ModeRun) -> dict[str, Any]:
    result = run.result
    phases: dict[int, list[Phase]] = {record.number: [] for record in result.records}
    for phase in result.phases:
        phases[phase.number].append(phase)
    return {
        "title": TITLES[run.mode],
        "cells": cells(run),
        "end_s": result.duration_s or 1.0,
        "blocks": max(result.num_blocks - 1, 1),
        "requests": [_request(record, phases[record.number]) for record in result.records],
        "samples": [
            (_short(s.time_s), s.running, s.waiting, s.used_blocks) for s in result.samples
        ],
    }


def _request(record: RequestRecord, phases: Sequence[Phase]) -> tuple[Any, ...]:
    times = (record.arrival_s, record.admitted_s, record.first_token_s, record.finished_s)
    return (
        record.number,
        record.prompt_tokens,
        record.output_tokens,
        *(None if time_s is None else _short(time_s) for time_s in times),
        record.cached_tokens,
        record.preemptions,
        [(KINDS.index(p.kind), _short(p.start_s), _short(p.end_s), p.tokens) for p in phases],
    )


def _short(time_s: float) -> float:
    return round(time_s, 6)
