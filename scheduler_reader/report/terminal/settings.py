"""The settings that decide what the scheduler does, with their value and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.report import wording
from scheduler_reader.report.privacy import MASK, is_secret_name
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading
from scheduler_reader.resolve.engine import Setting
from scheduler_reader.value import Unknown

ALWAYS = (
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "gpu_memory_utilization",
)


def blocks(assessment: Assessment) -> Iterator[Block]:
    """The settings that always matter, then everything else that the user set."""
    settings = assessment.engine.settings
    shown = [name for name in ALWAYS if name in settings]
    shown += sorted(n for n, s in settings.items() if s.is_set and n not in ALWAYS and n != "model")
    if not shown:
        return
    yield BLANK
    yield heading("Settings ", ("(* set by you)", "dim"))
    yield Columns(tuple(_row(name, settings[name]) for name in shown), "llrl")


def _row(name: str, setting: Setting) -> tuple[Span, ...]:
    style = "set" if setting.is_set else ""
    return (
        ("*" if setting.is_set else " ", style),
        (name, style),
        (_value(name, setting), style),
        (_where_from(setting), "" if setting.is_set else "dim"),
    )


def _value(name: str, setting: Setting) -> str:
    value = setting.value
    if isinstance(value, Unknown):
        return "unknown"
    if is_secret_name(name):
        return MASK
    text = wording.setting_text(value.value)
    return text if len(text) <= 16 else text[:15] + "…"


def _where_from(setting: Setting) -> str:
    value = setting.value
    if isinstance(value, Unknown):
        return value.reason
    text = str(value.origin)
    if setting.is_set and setting.default is not None and setting.default != value.value:
        text += f", default {wording.setting_text(setting.default)}"
    return text
