"""The settings that decide what the scheduler does, with their value and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_reader.assessment import Assessment
from scheduler_reader.privacy import MASK, is_secret_name
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.resolve.engine import ResolvedEngine, Setting
from scheduler_reader.value import Origin, Unknown

ALWAYS = (
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "gpu_memory_utilization",
)
LONGEST_VALUE = 16
CLASS_FIELD = re.compile(r": \w+\.\w+")  # a rule that only says where the default is written


def blocks(assessment: Assessment) -> Iterator[Block]:
    """The settings that always matter and those of the scheduler that the user set; then the rest."""
    engine = assessment.engine
    settings = engine.settings
    given = sorted(name for name, setting in settings.items() if setting.is_set)
    shown = [name for name in ALWAYS if name in settings]
    if "kv_cache_dtype" not in given and _is_chosen(settings.get("kv_cache_dtype")):
        shown.append("kv_cache_dtype")
    shown += [name for name in given if settings[name].controls and name not in ALWAYS]
    others = [name for name in given if name not in shown and name != "model"]
    if not shown:
        return
    yield BLANK
    yield heading("Settings ", ("(* set by you)", "dim"))
    yield Columns(tuple(_row(name, engine) for name in shown), "llrl")
    if others:
        yield paragraph("Also set: ", ", ".join(others), indent=2, hang=2)


def _is_chosen(kv_cache_dtype: Setting | None) -> bool:
    """Whether somebody other than the user, the checkpoint say, set another KV precision."""
    if kv_cache_dtype is None or isinstance(kv_cache_dtype.value, Unknown):
        return False
    return bool(kv_cache_dtype.value.value != "auto")


def _row(name: str, engine: ResolvedEngine) -> tuple[Span, ...]:
    setting = engine.settings[name]
    style = "set" if setting.is_set else ""
    return (
        ("*" if setting.is_set else " ", style),
        (name, style),
        (_value(name, setting), style),
        (_where_from(setting, engine), "" if setting.is_set else "dim"),
    )


def _value(name: str, setting: Setting) -> str:
    value = setting.value
    if isinstance(value, Unknown):
        return "unknown"
    if is_secret_name(name):
        return MASK
    text = wording.setting_text(value.value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _where_from(setting: Setting, engine: ResolvedEngine) -> str:
    """Where the value comes from, or why there is none."""
    value = setting.value
    if isinstance(value, Unknown):
        return value.reason
    text = _origin(value.origin, engine)
    if setting.is_set and setting.default not in (None, "", value.value):
        text += f", default {wording.setting_text(setting.default)}"
    return text


def _origin(origin: Origin, engine: ResolvedEngine) -> str:
    """An origin in few words: the head of the report names file and release, the JSON the source."""
    text = wording.origin_in(engine.parsed.origin.path, origin).partition(" (vllm/")[0]
    release = engine.release.name
    if text.startswith(f"default of vLLM {release}"):
        rule = text.removeprefix(f"default of vLLM {release}")
        return "default" if CLASS_FIELD.fullmatch(rule) else f"default{rule}"
    return text.removeprefix(f"vLLM {release}: ")
