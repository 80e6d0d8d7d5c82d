"""The timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open.

A mode is a process, a request a thread in it, queue and blocks are its counters
("Trace Event Format", Google, 2016: complete events `X`, counters `C`, metadata `M`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scheduler_reader.simulate.comparison import TITLES
from scheduler_reader.simulate.modes import ModeRun
from scheduler_reader.simulate.study import Study


def render(study: Study) -> str:
    """The whole trace as JSON; times in microseconds of simulated time."""
    events = [event for pid, run in enumerate(study.runs, 1) for event in _events(pid, run)]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, allow_nan=False) + "\n"


def _events(pid: int, run: ModeRun) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": TITLES[run.mode]}}
    for record in run.result.records:
        name = f"request {record.number}: {record.prompt_tokens} in, {record.output_tokens} out"
        thread = {"ph": "M", "pid": pid, "tid": record.number, "name": "thread_name"}
        yield {**thread, "args": {"name": name}}
    for phase in run.result.phases:
        yield {
            "ph": "X",
            "pid": pid,
            "tid": phase.number,
            "name": phase.kind,
            "cat": "request",
            "ts": phase.start_s * 1e6,
            "dur": (phase.end_s - phase.start_s) * 1e6,
            "args": {"tokens": phase.tokens},
        }
    for sample in run.result.samples:
        counter = {"ph": "C", "pid": pid, "ts": sample.time_s * 1e6}
        requests = {"running": sample.running, "waiting": sample.waiting}
        yield {**counter, "name": "requests", "args": requests}
        yield {**counter, "name": "KV blocks", "args": {"used": sample.used_blocks}}
