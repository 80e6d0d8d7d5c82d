"""What was observed beside what was predicted, and why a start failed."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.observe.failed_start import LoggedFailure, foreseen_by
from scheduler_reader.observe.measures import MEASURES
from scheduler_reader.observe.observation import Comparison
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph

ALONE = (
    "waiting", "waiting_deferred", "kv_cache_usage", "preemptions", "prefix_cache_hit_rate",
    "acceptance_length",
)  # fmt: skip
FAR_OFF = 1.5  # observed over predicted, or the other way round: worth the reader's eye


def blocks(assessment: Assessment) -> Iterator[Block]:
    """The comparison as a table, what only was observed below it; nothing without an observation."""
    observation = assessment.observation
    if observation is None:
        return
    yield BLANK
    yield heading("Observed: ", ", ".join(observation.sources))
    if assessment.comparison:
        yield Columns(tuple(_rows(assessment.comparison)), "lrrr")
    compared = {one.metric for one in assessment.comparison}
    alone = [
        f"{MEASURES[name]} {_text(name, value)}"
        for name in ALONE
        if name not in compared and (value := observation.get(name)) is not None
    ]
    if alone:
        yield paragraph(" · ".join(alone), indent=2, hang=2)
    if observation.log is not None and observation.log.failure is not None:
        failure = observation.log.failure
        yield paragraph(
            (f"{_ended(failure)}: {failure.error}: {failure.message}", "error"), indent=2, hang=2
        )
        for said in (failure.means, failure.change):
            if said is not None:
                yield paragraph(said, indent=2, hang=2)
        codes = foreseen_by(failure, (finding.code for finding in assessment.findings))
        said = f"foreseen by {', '.join(codes)}" if codes else "no rule here foresees it"
        yield paragraph(said, indent=2, hang=2)
    if observation.unread:
        names = ", ".join(observation.unread[:5])
        yield paragraph(
            (f"{len(observation.unread)} metrics are not known: {names}", "dim"), indent=2, hang=2
        )


def _rows(comparison: tuple[Comparison, ...]) -> Iterator[tuple[Span, ...]]:
    yield tuple((title, "dim") for title in ("", "predicted", "observed", "ratio"))
    for one in comparison:
        ratio = one.ratio
        is_far = ratio is not None and not 1 / FAR_OFF <= ratio <= FAR_OFF
        style = "warning" if is_far else ""
        yield (
            (MEASURES[one.metric].removesuffix(", ms").removesuffix(", GiB"), ""),
            (_text(one.metric, one.predicted), ""),
            (_text(one.metric, one.observed), style),
            ("" if ratio is None else f"{ratio:.2f}", style),
        )


def _ended(failure: LoggedFailure) -> str:
    return "The start failed" if failure.is_start else "The server ended"


def _text(name: str, value: float) -> str:
    if name.endswith("_ms"):
        return wording.duration(value)
    if name.endswith("_per_s"):
        return wording.rate(value)
    if name in {"kv_cache_usage", "prefix_cache_hit_rate"}:
        return f"{value:.0%}"
    if name.endswith("_gib"):
        return f"{value:.1f} GiB"
    return wording.count(round(value, 2))
