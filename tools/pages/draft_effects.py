"""Published effects of speculative decoding beside what the step-time model makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pages.markdown import table
from scheduler_reader.parse import parse_command
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.step import StepModel
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known

SECTION = """\
Tokens a second with drafts over those without, of steps that only decode, with the acceptance that the source states (else
as published for the method). The range is that of what is known of drafts: acceptance where it is not stated, experts that the
tokens of a sequence share, the host's time of a draft. SGLang's runs are predicted as vLLM's. Rows with a star were seen by the
host's times; to the mixtures of experts nothing was fitted.  `tests/performance/published_drafts.yaml` has the sources."""


class Effect(NamedTuple):
    """One published speed-up and its prediction with the ends of its range."""

    source: str
    model: str
    cards: str
    method: str
    drafts: int
    running: int
    is_fitted: bool
    measured: float
    predicted: float
    low: float
    high: float


def published_effects(document: Mapping[str, Any]) -> list[Effect]:
    """The prediction of every run of the document."""
    return [_effect(series, run) for series in document["series"] for run in series["runs"]]


def draft_section(effects: Sequence[Effect]) -> Iterator[str]:
    """The section of the page."""
    yield "## Speculative decoding"
    yield SECTION
    head = (
        "model",
        "on",
        "method",
        "drafts",
        "running",
        "measured",
        "predicted",
        "range",
        "source",
    )
    rows = [
        (
            one.model + ("\\*" if one.is_fitted else ""),
            one.cards,
            one.method,
            str(one.drafts),
            str(one.running),
            f"{one.measured:.2f}",
            f"{one.predicted:.2f} ({one.predicted / one.measured - 1:+.0%})",
            f"{one.low:.2f} to {one.high:.2f}",
            one.source,
        )
        for one in effects
    ]
    yield table(head, rows)


def _effect(series: Mapping[str, Any], run: Sequence[Any]) -> Effect:
    drafts, running, acceptance, measured = run
    model = build_step_model(_engine(series, drafts))
    assert isinstance(model, Known), model
    drafting = model.value.accepting(acceptance)
    context = running * series["context"]
    plain_s = replace(drafting, speculation=None).step_seconds(running, context)

    def gain(step: StepModel) -> float:
        return step.acceptance * plain_s / step.step_seconds(running, context)

    return Effect(
        series["source"],
        series["model"].rsplit("/", 1)[-1],
        f"{series['tensor']} x {series['gpu']}",
        series["method"],
        drafts,
        running,
        series.get("is_fitted", False),
        measured,
        gain(drafting),
        gain(drafting.drafting_end("slow")),
        gain(drafting.drafting_end("fast")),
    )


def _engine(series: Mapping[str, Any], drafts: int) -> ResolvedEngine:
    config = {"method": series["method"], "model": "some/draft", "num_speculative_tokens": drafts}
    words = ["vllm", "serve", series["model"], "--max-model-len", "4096"]
    words += ["-tp", str(series["tensor"]), "--speculative-config", json.dumps(config)]
    engine = parse_command(words).engines[0]
    return resolve(engine, ResolveOptions(series["vllm"], series["gpu"], series["tensor"]))
