"""Facts about what is written and has no effect."""

from __future__ import annotations

from scheduler_reader.resolve import no_effect
from scheduler_reader.resolve.no_effect import OverriddenSetting, UnreadVariable
from scheduler_reader.rule_engine.sources import Sources


def overridden_settings(sources: Sources) -> list[OverriddenSetting]:
    """Arguments that vLLM sets against what is written."""
    return no_effect.overridden_settings(sources.engine)


def unread_variables(sources: Sources) -> list[UnreadVariable]:
    """VLLM_ environment variables of the engine that the release does not read."""
    return no_effect.unread_variables(sources.engine)
