"""What an upgrade changes, for people: `sched-reader upgrade`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.privacy import MASK, is_secret_name, secrets
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.upgrade.changes import Change, SettingChange, Upgrade
from scheduler_reader.upgrade.rewrite import Rewrite
from scheduler_reader.value import Unknown, Value

if TYPE_CHECKING:
    from rich.console import Console

MOST_ITEMS = 6  # of a list that stands on one line


def render(upgrades: Sequence[Upgrade], rewrites: Sequence[Rewrite], console: Console) -> None:
    """Print what differs for every engine, and what --fix did."""
    for i, upgrade in enumerate(upgrades):
        layout = Layout(console, secrets(upgrade.after.engine))
        layout.print([*([BLANK] if i else []), *_upgrade(upgrade)])
    Layout(console).print(_rewrites(rewrites))


def _upgrade(upgrade: Upgrade) -> Iterator[Block]:
    yield from _head(upgrade)
    yield from _flags(upgrade)
    yield from _settings(upgrade.settings)
    yield from _metrics(upgrade.metrics)
    yield from _findings("New findings", upgrade.new_findings)
    yield from _findings("No longer found", upgrade.gone_findings)
    yield from _behaviours(upgrade)
    yield from _new_flags(upgrade)


def _head(upgrade: Upgrade) -> Iterator[Block]:
    before, after = upgrade.before.engine, upgrade.after.engine
    model = "model unknown" if isinstance(after.model_id, Unknown) else after.model_id.value
    yield heading(f"vLLM {before.release.name} → {after.release.name}", f"  {model}")
    place = after.parsed.origin.place
    gpus = f"{after.hardware.count} × {after.hardware.gpu.title}"
    yield paragraph(f"{place}, {gpus}" if place else gpus, indent=2)
    starts, verdict = wording.start_verdict(upgrade.after)
    style = {True: "good", False: "error", None: "warning"}[starts]
    detail = f"  {verdict.detail}" if verdict.detail else ""
    if starts is False and wording.start_verdict(upgrade.before)[0] is False:
        detail += f" (nor with {before.release.name})"
    yield paragraph((verdict.headline, style), detail, indent=2, hang=2)


def _flags(upgrade: Upgrade) -> Iterator[Block]:
    if not upgrade.flags:
        return
    yield BLANK
    yield heading("Flags that are read otherwise")
    for change in upgrade.flags:
        style = "error" if change.is_fatal else "note"
        yield paragraph(
            f"{change.origin.place}  " if change.origin.place else "",
            (change.kind, style),
            f"  {change.message}",
            indent=2,
            hang=2,
        )


def _settings(changes: Sequence[SettingChange]) -> Iterator[Block]:
    if not changes:
        return
    yield BLANK
    yield heading("Settings that move although the file stays the same")
    for change in changes:
        yield paragraph(
            (change.name, "set"),
            f"  {_value(change.name, change.before)} → {_value(change.name, change.after)}",
            indent=2,
            hang=4,
        )
        yield paragraph(("rule    ", "dim"), _rule(change.after), indent=4, hang=8)
        effect = _effect(change.effect)
        if effect:
            yield paragraph(("effect  ", "dim"), effect, indent=4, hang=8)


def _metrics(changes: Mapping[str, Change]) -> Iterator[Block]:
    if not changes:
        return
    yield BLANK
    yield heading("In this deployment's numbers, all changes together")
    yield Columns(
        tuple(
            (
                (wording.metric_text(name), ""),
                (_number(name, change.before), ""),
                ("→", "dim"),
                (_number(name, change.after), "set"),
                (wording.percent((change.after - change.before) / change.before), "")
                if change.before
                else ("", ""),
            )
            for name, change in changes.items()
        ),
        "lrlrl",
    )


def _findings(title: str, findings: Sequence[Finding]) -> Iterator[Block]:
    if not findings:
        return
    yield BLANK
    yield heading(title)
    for finding in findings:
        place = finding.origin.place if finding.origin else ""
        yield paragraph(
            f"{place}  " if place else "",
            (finding.severity, finding.severity),
            (f"  {finding.code} {finding.name}  ", "head"),
            finding.message,
            indent=2,
            hang=2,
        )


def _behaviours(upgrade: Upgrade) -> Iterator[Block]:
    if not upgrade.behaviours:
        return
    yield BLANK
    yield heading("What vLLM does otherwise")
    for change in upgrade.behaviours:
        is_plain = (change.before, change.after) == (False, True)
        moved = "" if is_plain else f" ({_word(change.before)} → {_word(change.after)})"
        yield paragraph(
            (f"since {change.since}  ", "dim"),
            change.what + moved,
            indent=2,
            hang=2,
        )


def _new_flags(upgrade: Upgrade) -> Iterator[Block]:
    if not upgrade.new_flags:
        return
    yield BLANK
    yield heading("New options worth a look")
    rows = tuple(
        ((new.flag, "set"), (f"since {new.since}", "dim"), (new.why, ""))
        for new in upgrade.new_flags
    )
    yield Columns(rows, "lll")


def _rewrites(rewrites: Sequence[Rewrite]) -> Iterator[Block]:
    if not rewrites:
        return
    yield BLANK
    yield heading("Rewritten in the file")
    for rewrite in rewrites:
        done = f"→ {rewrite.into}" if rewrite.into else f"taken out: {rewrite.reason}"
        yield paragraph(
            f"{rewrite.origin.place}  ",
            (rewrite.flag, "set"),
            "  ",
            done if rewrite.is_done else ("left alone: ", "warning"),
            "" if rewrite.is_done else rewrite.reason or "",
            indent=2,
            hang=2,
        )


def _effect(effect: Mapping[str, Change]) -> str:
    return ", ".join(
        f"{wording.metric_text(name)} {_number(name, change.before)} → {_number(name, change.after)}"
        for name, change in effect.items()
    )


def _number(metric: str, value: float) -> str:
    return f"{value:.1f}" if metric.endswith("_gib") else wording.metric_value(metric, value)


def _value(name: str, value: Value[Any]) -> str:
    if isinstance(value, Unknown):
        return "unknown"
    if is_secret_name(name):
        return MASK
    if isinstance(value.value, list) and len(value.value) > MOST_ITEMS:
        return f"{len(value.value)} of {min(value.value):,}–{max(value.value):,}"
    return wording.setting_text(value.value)


def _rule(value: Value[Any]) -> str:
    """Why the value holds, without vLLM's file and function, which the JSON has."""
    reason = value.reason if isinstance(value, Unknown) else str(value.origin)
    return reason.partition(" (vllm/")[0]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    return text if " " in text else text.replace("_", " ")
