"""docs/complaints.md: public reports of slow servers, read with what was observed of them."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pages.markdown import GENERATED, page, table
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.observe.observation import Observation, observe
from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request, assess
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Slo, read_workload

ROOT = Path(__file__).resolve().parent.parent.parent
REPORTED = ROOT / "tests" / "observe" / "complaints.yaml"

INTRODUCTION = """\
Reports of others whose release, GPU, model and options are public, read with the figures they give (`--bench`,
`--startup-log`), and the kind of bottleneck that comes of it beside what the source concludes. There are few: most public
reports leave out the GPU, the release or the load."""


class Read(NamedTuple):
    """A report and the verdict on it."""

    reported: Mapping[str, Any]
    verdict: Bottleneck

    @property
    def agrees(self) -> bool:
        return self.verdict.kind in self.reported["concluded"]


def read_complaints() -> Iterator[Read]:
    """Every report with its verdict; one that cannot be judged is a `ValueError`."""
    for reported in yaml.safe_load(REPORTED.read_text(encoding="utf-8"))["complaints"]:
        load = reported.get("load")
        request = Request(
            target=ResolveOptions(
                vllm_version=reported["vllm_version"],
                gpu=reported["gpu"],
                gpu_count=reported["gpu_count"],
            ),
            workload=None if load is None else read_workload(load, reported["name"]),
            slo=Slo(**reported.get("objective", {})),
        ).observing(_observed(reported))
        (engine,) = parse_command(shlex.split(reported["command"])).engines
        bottleneck = assess(engine, request).bottleneck
        if isinstance(bottleneck, Unknown):
            raise ValueError(f"{reported['name']}: {bottleneck.reason}")
        yield Read(reported, bottleneck.value)


def _observed(reported: Mapping[str, Any]) -> Observation | None:
    with tempfile.TemporaryDirectory() as folder:
        log, bench = Path(folder, "server.log"), Path(folder, "bench.json")
        log.write_text(reported.get("log", ""), encoding="utf-8")
        bench.write_text(json.dumps(reported.get("bench")), encoding="utf-8")
        return observe(
            bench=[str(bench)] if "bench" in reported else [],
            startup_log=str(log) if "log" in reported else None,
        )


def complaints_page(read: Sequence[Read] | None = None) -> dict[str, str]:
    """Path below docs/ → text; `read` where the reports are read already."""
    read = read or list(read_complaints())
    rows = [
        (
            one.reported["name"],
            one.reported["observed"],
            one.reported["conclusion"],
            f"`{one.verdict.kind}`" + ("" if one.agrees else " (disagrees)"),
        )
        for one in read
    ]
    agreed = sum(one.agrees for one in read)
    ours = sum(one.agrees and "objective" in one.reported for one in read)
    summary = (
        f"{agreed} of {len(read)} verdicts agree with the source's conclusion, {ours} of them only under "
        "a latency objective that is ours, not the source's. These are the reports that the reading was "
        "made with; others may fare worse. From the configuration alone, without load and metrics, none is found."
    )
    return {
        "complaints.md": page(
            "# Public complaints, read",
            GENERATED,
            INTRODUCTION,
            summary,
            table(("report", "observed", "the source concludes", "verdict"), rows),
            *(block for one in read for block in _section(one)),
        )
    }


def _section(one: Read) -> list[str]:
    reported = one.reported
    said = [f"- {sentence}" for sentence in one.verdict.evidence]
    notes = [
        " ".join(reported[name].split()) for name in ("assumed", "argument") if name in reported
    ]
    place = f"vLLM {reported['vllm_version']}, {reported['gpu_count']} × {reported['gpu']}"
    return [
        f"## {reported['name'][0].upper()}{reported['name'][1:]}",
        f"Source: {reported['source']}. {place}: `{' '.join(reported['command'].split())}`",
        "\n".join(said),
        *(f"{note[0].upper()}{note[1:].rstrip('.')}." for note in notes),
    ]
