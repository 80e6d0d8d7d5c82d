"""docs/complaints.md: public reports of slow servers, read with what they state."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pages.markdown import GENERATED, page, table
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.observe.observation import observe
from scheduler_reader.observe.stated import stated_measures
from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request, assess
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.value import Unknown, Value

ROOT = Path(__file__).resolve().parent.parent.parent
REPORTED = ROOT / "tests" / "observe" / "complaints.yaml"

INTRODUCTION = """\
Reports of others whose options and figures are public, each read with the figures that it states (`--observed`) and nothing
else, and the kind of bottleneck that comes of it beside what the source concludes. No load, no count and no objective is
added to them; a release or a GPU that a report does not name is assumed as everywhere."""
KNOWN = """\
## Reports that the reading was made with

They name release, GPU, model and options."""
FURTHER = """\
## Further reports

Found afterwards, in threads where a maintainer or the reporter says what it was. *First verdict* is what the reading said
before anything was changed for them. Since then they have served to improve it, so the last column is no test of unseen reports."""
SECOND = """\
## A second set

Found after that, and read before anything more was changed. They say less than the others; five name no model that is
known, and then only what is stated can tell."""
THIRD = """\
## A third set

Found after that again, and read once before anything was changed for them. They say least: one names a model that is known,
and six state no more than one or two figures, of which nothing followed without a model. What follows now for any model is of low
confidence: seats beside what is open or waits, preemptions of which only the count is known, gaps far above their median,
and tokens that come more slowly than a step that reads all of the card's memory."""
NOT_TOLD = "unknown"
GROUPS = ("known", "further", "second", "third")


class Read(NamedTuple):
    """A report and the verdict on it."""

    reported: Mapping[str, Any]
    group: str  # of `GROUPS`
    verdict: Value[Bottleneck]

    @property
    def kind(self) -> str:
        return NOT_TOLD if isinstance(self.verdict, Unknown) else self.verdict.value.kind

    @property
    def evidence(self) -> tuple[str, ...]:
        if isinstance(self.verdict, Unknown):
            return (f"cannot be told: {self.verdict.reason}",)
        return self.verdict.value.evidence

    @property
    def first(self) -> str | None:
        """The verdict before the report was looked at; None for those the reading was made with."""
        found: str | None = self.reported.get("first")
        return found

    def agrees(self, kind: str | None = None) -> bool:
        return (kind or self.kind) in self.reported["concluded"]


def read_complaints() -> Iterator[Read]:
    """Every report with its verdict, group by group."""
    document = yaml.safe_load(REPORTED.read_text(encoding="utf-8"))
    for group, reported in ((name, one) for name in GROUPS for one in document[name]):
        target = {name: reported.get(name) for name in ("vllm_version", "gpu", "gpu_count")}
        stated = observe(stated=stated_measures(reported["stated"]))
        request = Request(target=ResolveOptions(**target)).observing(stated)
        (engine,) = parse_command(shlex.split(reported["command"])).engines
        yield Read(reported, group, assess(engine, request).bottleneck)


def complaints_page(read: Sequence[Read] | None = None) -> dict[str, str]:
    """Path below docs/ → text; `read` where the reports are read already."""
    read = read or list(read_complaints())
    known, further, second, third = (
        [one for one in read if one.group == group] for group in GROUPS
    )
    blocks = [
        KNOWN,
        f"{_score(known)} agree with the source's conclusion.",
        table(("report", "states", "the source concludes", "verdict"), [_row(o) for o in known]),
        FURTHER,
        *_afterwards(further),
        SECOND,
        *_afterwards(second),
        THIRD,
        *_afterwards(third),
        *(block for one in read for block in _section(one)),
    ]
    return {"complaints.md": page("# Public complaints, read", GENERATED, INTRODUCTION, *blocks)}


def _afterwards(read: Sequence[Read]) -> tuple[str, str]:
    """The score and the table of reports that were found when there was a reading."""
    first = sum(one.agrees(one.first) for one in read)
    head = ("report", "states", "the source concludes", "first verdict", "verdict")
    return (
        f"{_score(read)} agree; of the first verdicts {first} of {len(read)} did.",
        table(head, [_row(one) for one in read]),
    )


def _score(read: Sequence[Read]) -> str:
    return f"{sum(one.agrees() for one in read)} of {len(read)} verdicts"


def _row(one: Read) -> tuple[str, ...]:
    stated = ", ".join(f"`{name}={value}`" for name, value in one.reported["stated"].items())
    kinds = [kind for kind in (one.first, one.kind) if kind is not None]
    verdicts = [
        ("not told" if kind == NOT_TOLD else f"`{kind}`")
        + ("" if one.agrees(kind) else " (disagrees)")
        for kind in kinds
    ]
    return (one.reported["name"], stated, one.reported["conclusion"], *verdicts)


def _section(one: Read) -> list[str]:
    reported = one.reported
    said = [f"- {sentence}" for sentence in one.evidence]
    notes = [
        " ".join(reported[name].split()) for name in ("from_words", "argument") if name in reported
    ]
    return [
        f"## {reported['name'][0].upper()}{reported['name'][1:]}",
        f"Source: {reported['source']}. {_place(reported)}: `{' '.join(reported['command'].split())}`",
        "\n".join(said),
        *(f"{note[0].upper()}{note[1:].rstrip('.')}." for note in notes),
    ]


def _place(reported: Mapping[str, Any]) -> str:
    release = reported.get("vllm_version")
    count, gpu = reported.get("gpu_count"), reported.get("gpu", "GPUs that are not named")
    where = gpu if count is None else f"{count} × {gpu}"
    return f"{f'vLLM {release}' if release else 'Release not named'}, {where}"
