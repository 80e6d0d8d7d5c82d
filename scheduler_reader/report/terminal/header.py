"""The head of the report: which engine, on what, does it start, and what limits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import Block, Span, heading, paragraph
from scheduler_reader.rule_engine.finding import Severity
from scheduler_reader.value import Unknown

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def blocks(assessment: Assessment) -> Iterator[Block]:
    """Which engine this is, and the verdict in two sentences."""
    engine = assessment.engine
    parsed, hardware = engine.parsed, engine.hardware
    model = engine.model_id
    name = "model unknown" if isinstance(model, Unknown) else model.value
    place = parsed.origin.place or str(parsed.origin)
    label = f"{place} ({parsed.name})" if parsed.name else place
    yield heading(name, f"  {label}")
    release, card = (
        wording.origin_in(parsed.origin.path, o) for o in (engine.release_origin, hardware.origin)
    )
    yield paragraph(
        f"vLLM {engine.release.name} ({release}), {engine.engine} engine, "
        f"{hardware.count} × {hardware.gpu.title} ({card})",
        hang=2,
    )
    starts, verdict = wording.start_verdict(assessment)
    style = {True: "good", False: "error", None: "warning"}[starts]
    yield paragraph(
        (verdict.headline, style),
        f": {verdict.detail}" if verdict.detail else "",
        *_finding_counts(assessment),
        hang=2,
    )
    yield paragraph(*_bottleneck(assessment, starts), hang=2)


def _finding_counts(assessment: Assessment) -> list[Span]:
    counts = Counter(finding.severity for finding in assessment.findings)
    spans: list[Span] = []
    for severity in SEVERITIES:
        if counts[severity]:
            spans += [
                (", " if spans else "; ", ""),
                (wording.plural(counts[severity], severity), severity),
            ]
    return spans


def _bottleneck(assessment: Assessment, starts: bool | None) -> list[Span]:
    bottleneck = assessment.bottleneck
    if isinstance(bottleneck, Unknown):
        return [("Bottleneck: ", "head"), (f"not known: {bottleneck.reason}", "")]
    is_memory = bottleneck.value.kind == "hbm_capacity"
    title = "Bottleneck once it starts: " if starts is False and not is_memory else "Bottleneck: "
    style = "" if bottleneck.value.default == "none" else "warning"
    verdict = wording.bottleneck_verdict(bottleneck.value)
    return [(title, "head"), (verdict.headline, style), (f": {verdict.detail}", "")]
