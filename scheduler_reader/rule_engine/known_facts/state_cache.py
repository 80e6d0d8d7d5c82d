"""Facts about the cache of recurrent states (mamba, linear attention).

vllm/model_executor/models/config.py, MambaModelConfig, 0.15.0-0.33.0.
"""

from __future__ import annotations

from scheduler_reader.data import documents
from scheduler_reader.rule_engine.known_facts.model import architecture, is_hybrid
from scheduler_reader.rule_engine.settings import setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

FILE = "state_cache.yaml"


def state_cache_mode(sources: Sources) -> str | Unknown | None:
    """How prefixes of recurrent layers are cached: none, all or align; None: no such layers or modes."""
    has_states = is_hybrid(sources)
    if isinstance(has_states, Unknown):
        return has_states
    if not has_states or not _within(sources, "modes"):
        return None
    prefix_caching = setting_value(sources.engine, "enable_prefix_caching")
    given = setting_value(sources.engine, "mamba_cache_mode")
    for value in (prefix_caching, given):
        if isinstance(value, Unknown):
            return value
    if not prefix_caching:
        return "none"
    wanted = given if given in ("all", "align") else "align"
    if given != "align" and _within(sources, "all_by_default"):
        wanted = "all"
    supports_all = architecture(sources) in documents("compat_matrix", FILE)[FILE]["supports_all"]
    if wanted == "all" and supports_all and _within(sources, "all_where_given"):
        return "all"
    return "align"


def _within(sources: Sources, name: str) -> bool:
    entry = documents("compat_matrix", FILE)[FILE][name]
    return sources.engine.release.within(entry["from"], entry["to"])
