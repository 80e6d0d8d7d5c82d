"""Traces recorded from the schedulers of eleven releases, a sample of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.errors import SchedReaderError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.case import read_case
from scheduler_reader.simulate.steps import replay

RELEASES = (
    *("0.10.2", "0.11.2", "0.14.1", "0.15.1", "0.18.0", "0.20.2"),
    *("0.23.0", "0.24.0", "0.28.0", "0.31.0", "0.33.0"),
)
SAMPLE = (
    "apc_05_evict",
    "async_prio_02_preempt",
    "hybrid_02_window_apc",
    "long_05_partial",
    "mem_04_isl_reserve_on",
    "nochunk_02_head",
    "pp_03_async",
    "prio_03_late_urgent",
    "spec_03_len_cap",
)
KEYS = ("t", "s", "new", "res", "pre", "hit", "run", "wq", "free", "draft", "fin")


@pytest.mark.parametrize("release", RELEASES)
def test_equal_step_by_step(shared: Path, release: str) -> None:
    cases = json.loads((shared / "oracle" / "cases.json").read_text())["cases"]
    for case in cases:
        if case["name"] not in SAMPLE:
            continue
        path = shared / "oracle" / "traces" / release / f"{case['name']}.json.gz"
        recorded = json.loads(gzip.decompress(path.read_bytes()))
        assert _decisions(case, release) == _kept(recorded), case["name"]


def _decisions(case: dict[str, Any], version: str) -> list[dict[str, Any]] | None:
    release = Release(version)
    try:
        trace = replay(read_case(json.dumps(case), release), release)
    except SchedReaderError:
        return None
    return [{key: row[key] for key in KEYS if key in row} for row in trace.steps]


def _kept(recorded: dict[str, Any]) -> list[dict[str, Any]] | None:
    if "error" in recorded:
        return None
    return [{key: row[key] for key in KEYS if key in row} for row in recorded["steps"]]
