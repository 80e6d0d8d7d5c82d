"""Speculative decoding: the method and the number of draft tokens of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.resolve.case import Blocked, Case, whole_number
from scheduler_reader.value import Known, Unknown

SHORTCUTS = {
    "spec_method": "method",
    "spec_model": "model",
    "spec_tokens": "num_speculative_tokens",
}
EARLY_FLAGS = {"speculative_model": "model", "num_speculative_tokens": "num_speculative_tokens"}


def speculative_config(case: Case) -> Mapping[str, Any]:
    """What is given about speculation, in the keys of `--speculative-config`; empty: nothing."""
    written = case.written("speculative_config")
    config = dict(written.value) if written and isinstance(written.value, Mapping) else {}
    for flag, key in (SHORTCUTS | EARLY_FLAGS).items():
        value = case.written(flag)
        if value is not None:
            config.setdefault(key, value.value)
    return config


def speculation_method(case: Case) -> str | None:
    """The method, None without speculation.  Model-specific names such as glm4_moe_mtp are `mtp`."""
    config = speculative_config(case)
    if not config:
        return None
    method = config.get("method")
    if method is None and config.get("model") is None and case.facts.mtp_layers > 0:
        method = "mtp"  # until 0.10.2 such a target drafts unasked; later releases refuse
    if method is None:
        method = _method_of(str(config.get("model", "")))
    return "mtp" if str(method).endswith("_mtp") else str(method)


def resolve_method(case: Case) -> Known[Any]:
    """`speculative_method`: as given, or told from the draft's name as vLLM does."""
    method = speculation_method(case)
    if method is None:
        return case.by_default(None, "no speculative decoding")
    return case.decided(method, "method of the speculative configuration")


def resolve_draft_tokens(case: Case) -> Known[Any]:
    """`num_speculative_tokens`: 0 without speculation; unknown where only the draft model says it."""
    config = speculative_config(case)
    if not config:
        return case.by_default(0, "no speculative decoding")
    tokens = config.get("num_speculative_tokens")
    if tokens is None and speculation_method(case) == "mtp" and case.facts.mtp_layers > 0:
        return case.decided(case.facts.mtp_layers, "as many as the model predicts by itself")
    if tokens is None:
        raise Blocked(Unknown("num_speculative_tokens is not given; the draft model decides"))
    count = whole_number(tokens, "num_speculative_tokens")
    return case.decided(count, "of the speculative configuration")


def _method_of(model: str) -> str:
    name = model.lower()
    if name in ("ngram", "[ngram]"):
        return "ngram"
    for method in ("eagle3", "eagle", "medusa"):
        if f"{method}-" in name or name.endswith(method):
            return method
    return "draft_model"
