"""Quoted figures, the cases they are tried on (`compat_matrix/headline_claims.yaml`), and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.record import Record
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Workload, load_workload, read_workload

FILE = "headline_claims.yaml"

Answer = Literal["yes", "borderline", "no"]


class Case(Record):
    """One set-up that a figure is tried on."""

    label: str
    engine: str  # arguments of `vllm serve`; empty where the figure needs no engine
    added: str  # further arguments of this case
    workload: Workload
    release: str
    gpu: str
    tokens: int  # that a figure about the KV cache counts
    streams: float  # times one stream at the bandwidth floor

    @property
    def arguments(self) -> str:
        """All arguments of `vllm serve`."""
        return f"{self.engine} {self.added}".strip()


class Claim(Record):
    """One quoted figure.  `least` and `most` bound what was quoted; None: no bound on that side."""

    name: str
    says: str
    measure: str
    least: float | None
    most: float | None
    cases: tuple[Case, ...]
    but: str
    source: str


class Measured(Record):
    """A figure with the ends of its uncertainty, where it has one, and what goes with it."""

    value: float
    low: float | None = None
    high: float | None = None
    beside: str = ""


class CaseAnswer(Record):
    """One case: what it gives, or why it gives nothing, and whether the quoted figure holds."""

    case: Case
    measured: Measured | Unknown
    answer: Answer


class Verdict(Record):
    """A claim with the answers of its cases, in their order."""

    claim: Claim
    answers: tuple[CaseAnswer, ...]

    @property
    def sentence(self) -> str:
        """`Holds with 2 GPUs, 4 GPUs and 8 GPUs; not with 1 GPU.`"""
        parts = []
        for answer, words in (
            ("yes", "holds with"),
            ("borderline", "within the uncertainty with"),
            ("no", "does not hold with"),
        ):
            labels = [one.case.label for one in self.answers if one.answer == answer]
            if labels:
                everywhere = len(labels) == len(self.answers)
                parts.append(f"{words} {'any of these' if everywhere else _joined(labels)}")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the file."""
    document = documents("compat_matrix")[FILE]
    return tuple(_claim(name, entry, document) for name, entry in document["claims"].items())


def find_claim(name: str) -> Claim | None:
    """The claim of that name; the others are not read."""
    document, wanted = documents("compat_matrix")[FILE], name.lower().replace("_", "-")
    entry = document["claims"].get(wanted)
    return None if entry is None else _claim(wanted, entry, document)


def claim_names() -> tuple[str, ...]:
    """The names of all claims."""
    return tuple(documents("compat_matrix")[FILE]["claims"])


def _claim(name: str, entry: Mapping[str, Any], document: Mapping[str, Any]) -> Claim:
    try:
        cases = entry.get("cases", document["gpu_cases"])
        return Claim(
            name=name,
            says=entry["says"],
            measure=entry["measure"],
            least=entry["quoted"].get("at_least"),
            most=entry["quoted"].get("at_most"),
            cases=tuple(_case(case, entry, document) for case in cases),
            but=entry["but"],
            source=entry["source"],
        )
    except KeyError as error:
        raise DataError(f"compat_matrix/{FILE}: {name}: {error} is missing") from None


def _case(case: Mapping[str, Any], entry: Mapping[str, Any], document: Mapping[str, Any]) -> Case:
    return Case(
        label=case["label"],
        engine=case.get("engine", entry.get("engine", "")),
        added=case.get("with", ""),
        workload=_workload(case.get("load", entry.get("load"))),
        release=document["vllm"],
        gpu=entry.get("gpu", document["gpu"]),
        tokens=case.get("tokens", entry.get("tokens", 0)),
        streams=entry.get("streams", 1),
    )


def _workload(load: Any) -> Workload:
    if load is None:
        return DEFAULT_WORKLOAD
    if "preset" in load:
        changes = {name: value for name, value in load.items() if name != "preset"}
        return load_workload(load["preset"]).replaced(changes)
    return read_workload(load, FILE)


def _joined(labels: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))
