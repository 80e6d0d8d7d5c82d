"""What `tune` proposes, for people: changes in order, before and after, the front, what was held back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.diagnosis.objective import Gain
from scheduler_reader.privacy import secrets
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout
from scheduler_reader.tune.objective import Aim
from scheduler_reader.tune.result import Held, Spot, Step, Tuned
from scheduler_reader.value import Unknown

if TYPE_CHECKING:
    from rich.console import Console

AIMS = {
    Aim.goodput: "requests/s within the SLO",
    Aim.throughput: "output tokens/s",
    Aim.latency: "99th percentiles of TTFT and ITL together (their geometric mean)",
}
FIGURES = (
    "output_tokens_per_s",
    "requests_per_s",
    "goodput_requests_per_s",
    "ttft_mean_ms",
    "ttft_p99_ms",
    "itl_mean_ms",
    "itl_p99_ms",
    "tpot_ms",
    "running",
    "waiting",
    "preemptions_per_request",
    "kv_cache_tokens",
    "max_concurrency",
)
MOST_SHARE = 10.0  # from there on, two values say more
WORTH_SAYING = 0.005


def render(results: Sequence[Tuned], console: Console) -> None:
    """Print every engine's answer."""
    for i, tuned in enumerate(results):
        layout = Layout(console, secrets(tuned.engine))
        layout.print([*([BLANK] if i else []), *_blocks(tuned)])


def _blocks(tuned: Tuned) -> Iterator[Block]:
    yield from _head(tuned)
    yield from _steps(tuned)
    yield from _totals(tuned)
    yield from _front(tuned)
    yield from _held(tuned)
    yield from _tried(tuned)


def _head(tuned: Tuned) -> Iterator[Block]:
    engine = tuned.engine
    name = "model unknown" if isinstance(engine.model_id, Unknown) else engine.model_id.value
    place = engine.parsed.origin.place or str(engine.parsed.origin)
    label = f"{place} ({engine.parsed.name})" if engine.parsed.name else place
    yield heading(name, f"  {label}")
    hardware = engine.hardware
    yield paragraph(
        f"vLLM {engine.release.name}, {hardware.count} × {hardware.gpu.title}; "
        f"{wording.workload_text(tuned.case.workload)}",
        hang=2,
    )
    yield paragraph(("Searched for: ", "head"), AIMS[tuned.objective.aim] + _slo(tuned), hang=2)
    for note in tuned.notes:
        yield paragraph(("note: ", "note"), note, hang=2)
    if not tuned.before.figures:
        yield paragraph(*_obstacle(tuned), hang=2)


def _obstacle(tuned: Tuned) -> list[str | Span]:
    """Why there are no figures of the engine as it is."""
    reason = tuned.before.refused
    if reason.startswith("not known: "):
        return [("NOT PREDICTED: ", "error"), reason.removeprefix("not known: ")]
    if ":" not in reason:
        reason = f"vLLM {tuned.case.release.name} refuses it ({reason}); diagnose says why"
    return [("DOES NOT START AS IT IS: ", "error"), reason]


def _slo(tuned: Tuned) -> str:
    slo = tuned.case.request.slo
    limits = {"TTFT": slo.ttft_ms, "ITL": slo.itl_ms, "TPOT": slo.tpot_ms}
    stated = [f"{name} {wording.duration(ms)}" for name, ms in limits.items() if ms is not None]
    return f" ({', '.join(stated)})" if stated else ""


def _steps(tuned: Tuned) -> Iterator[Block]:
    yield BLANK
    if not tuned.steps:
        yield paragraph(("Nothing to change: ", "head"), _why_nothing(tuned), hang=2)
        return
    yield heading("Change, in this order")
    for step in tuned.steps:
        yield paragraph(
            (f"{step.order}. ", "head"),
            ("  ".join(wording.command_options(step.set)), "set"),
            *_gain(step),
            indent=2,
            hang=3,
        )
        yield paragraph(("why    ", "dim"), step.because, indent=5, hang=7)
        yield paragraph(("effect ", "dim"), _effect(step, tuned), indent=5, hang=7)
        yield paragraph(("watch  ", "dim"), step.watch, indent=5, hang=7)


def _why_nothing(tuned: Tuned) -> str:
    if not tuned.before.figures:
        return "no combination that was tried starts and can be predicted"
    least = f"{tuned.objective.worth:.0%}"
    return f"no combination that was tried gains {least} ({AIMS[tuned.objective.aim]})"


def _gain(step: Step) -> list[Span]:
    if step.gain is None:
        return [("  it starts", "good")]
    name = wording.metric_text(step.gain.metric)
    return [(f"  {name} {_moved(step.gain)}", "good")]


def _moved(gain: Gain) -> str:
    """How far the metric itself moves: `+8.3%`, `-37%`; from what to what where a per cent says little."""
    share = gain.after / gain.before - 1 if gain.before else MOST_SHARE
    if share >= MOST_SHARE:
        values = (wording.metric_value(gain.metric, each) for each in (gain.before, gain.after))
        return " → ".join(values)
    return wording.percent(share)


def _effect(step: Step, tuned: Tuned) -> str:
    """The figures that move visibly, as far as the objective or the eye is on them."""
    shown = ("output_tokens_per_s", "goodput_requests_per_s", "ttft_p99_ms", "itl_p99_ms")
    parts = []
    for name in shown:
        if not _is_shown(name, tuned):
            continue
        old, new = step.before.figures.get(name), step.after.figures.get(name)
        if new is not None and (old is None or abs(new - old) > 0.005 * abs(old)):
            moved = "" if old is None else f"{wording.metric_value(name, old)} → "
            parts.append(f"{wording.metric_text(name)} {moved}{wording.metric_value(name, new)}")
    return ", ".join(parts)


def _totals(tuned: Tuned) -> Iterator[Block]:
    if not tuned.before.figures and not tuned.after.figures:
        return
    yield BLANK
    title = "Now, and with all changes" if tuned.steps else "Now"
    yield heading(title, ("  " + _methods(tuned), "dim"))
    rows = [_total(name, tuned) for name in FIGURES if _is_shown(name, tuned)]
    yield Columns(tuple(rows), "lrlrl")


def _methods(tuned: Tuned) -> str:
    methods = [point.method for point in (tuned.before, tuned.after) if point.method]
    return " → ".join(dict.fromkeys(methods))


def _is_shown(name: str, tuned: Tuned) -> bool:
    if name == "goodput_requests_per_s":
        return tuned.case.request.slo.is_set
    values = [point.figures.get(name) for point in (tuned.before, tuned.after)]
    return any(value is not None for value in values) and not (
        name == "preemptions_per_request" and not any(values)
    )


def _total(name: str, tuned: Tuned) -> tuple[Span, ...]:
    old, new = tuned.before.figures.get(name), tuned.after.figures.get(name)
    before = "–" if old is None else _amount(name, old)
    if not tuned.steps:
        return ((wording.metric_text(name), ""), (before, ""), ("", ""), ("", ""), ("", ""))
    after = "–" if new is None else _amount(name, new)
    share = wording.percent(new / old - 1) if old and new and new / old < MOST_SHARE else ""
    is_same = before == after or bool(old and new and abs(new / old - 1) < 0.001)
    return (
        (wording.metric_text(name), ""),
        (before, ""),
        ("" if is_same else "→", "dim"),
        ("" if is_same else after, "set"),
        ("" if is_same else share, ""),
    )


def _amount(name: str, value: float) -> str:
    if name in ("running", "waiting"):
        return wording.count(round(value, 1))
    return wording.metric_value(name, round(value, 3) if "preempt" in name else value)


def _front(tuned: Tuned) -> Iterator[Block]:
    if len(tuned.front) < 2:
        return
    has_slo = tuned.case.request.slo.is_set
    is_mixed = bool(tuned.before.method) and tuned.before.method != tuned.after.method
    yield BLANK
    yield heading("Throughput against latency: no setting that was tried is better in all three")
    head = ["", "tokens/s", "TTFT p99", "ITL p99", *(["goodput/s"] if has_slo else []), "settings"]
    rows = [tuple((title, "dim") for title in head)]
    rows += [_spot(spot, has_slo, is_mixed) for spot in tuned.front]
    yield Columns(tuple(rows), "l" + "r" * (len(head) - 2) + "l", gap=1 if has_slo else 2)
    if is_mixed:
        note = f"~ {tuned.before.method}, the others are {tuned.after.method}: compare with care"
        yield paragraph((note, "dim"), indent=2, hang=2)


def _spot(spot: Spot, has_slo: bool, is_mixed: bool) -> tuple[Span, ...]:
    figures = spot.point.figures
    mark = "now" if spot.is_current else "new" if spot.is_proposed else ""
    about = "~" if is_mixed and spot.is_current else ""
    style = "set" if spot.is_proposed else ""
    cells = [
        (mark, "note"),
        (about + wording.rate(figures["output_tokens_per_s"] or 0.0), style),
        (_tail(figures.get("ttft_p99_ms")), style),
        (_tail(figures.get("itl_p99_ms")), style),
    ]
    if has_slo:
        cells.append((wording.rate(figures["goodput_requests_per_s"] or 0.0), style))
    options = "  ".join(wording.command_options(spot.set)) or "as they are"
    return (*cells, (options, style))


def _tail(ms: float | None) -> str:
    return "–" if ms is None else wording.duration(ms)


def _held(tuned: Tuned) -> Iterator[Block]:
    if not tuned.held_back:
        return
    yield BLANK
    yield heading("Held back")
    for held in tuned.held_back:
        yield paragraph(
            ("  ".join(wording.command_options(held.set)), "set"),
            f"  {_promise(held)}; {held.reason}; allow it with --allow ",
            held.name.replace("_", "-"),
            indent=2,
            hang=4,
        )


def _promise(held: Held) -> str:
    if held.gain is None:
        return "the engine would start"
    if held.gain.gain < WORTH_SAYING:
        return "would gain nothing here"
    return f"would move {wording.metric_text(held.gain.metric)} by {_moved(held.gain)}"


def _tried(tuned: Tuned) -> Iterator[Block]:
    tried = tuned.tried
    yield BLANK
    method = tuned.after.method or "closed form"
    final = f"{tried.final:,} of them as diagnose predicts them ({method})"
    short = ", cut short by --budget" if tried.is_cut_short else ""
    yield heading("Tried: ", f"{tried.closed_form:,} combinations in closed form{short}, {final}")
    rows = [
        ((name, ""), (", ".join(map(_value, values)), "")) for name, values in tried.values.items()
    ]
    yield Columns(tuple(rows), "ll")
    if tried.refused:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in tried.refused.items())
        yield paragraph(("left out  ", "dim"), reasons, indent=2, hang=10)
    assumptions = dict.fromkeys(tuned.engine.assumptions)
    if assumptions:
        yield heading("Assumed: ", "; ".join(assumptions))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return " with ".join(wording.command_options(value))
    return wording.setting_text(value)
