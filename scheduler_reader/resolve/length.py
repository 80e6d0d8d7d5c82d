"""`max_model_len`: as written, or derived from the model's configuration.

vllm/config.py and vllm/config/model.py, _get_and_verify_max_len.
"""

from __future__ import annotations

from typing import Any

from scheduler_reader.resolve.case import Case, number, whole_number
from scheduler_reader.value import Known

NO_LIMIT_KNOWN = 2048  # tokens, where config.json has no length at all
FITTED = (-1, "auto", "-1")
# RoPE types whose max_position_embeddings already includes the scaling.
SCALED_ALREADY = ("su", "longrope", "llama3", "default")
YARN = ("yarn", "deepseek_yarn", "deepseek_llama_scaling")


def resolve_max_model_len(case: Case) -> Known[Any]:
    """The longest request in tokens.  `auto` and -1 give the upper end, before memory is measured."""
    written = case.written("max_model_len")
    if written is not None and not (
        written.value in FITTED and case.follows("length_fitted_to_memory")
    ):
        return written
    tokens, reason = _derived(case)
    if written is not None:
        return case.by_behaviour(tokens, "length_fitted_to_memory")
    return case.decided(tokens, reason)


def _derived(case: Case) -> tuple[int, str]:
    facts = case.facts
    if facts.max_position_embeddings is None:
        return NO_LIMIT_KNOWN, "the model's configuration gives no length"
    tokens: float = facts.max_position_embeddings
    reason = "max_position_embeddings of the model"
    window = facts.sliding_window
    if case.argument("disable_sliding_window") and window is not None and window < tokens:
        tokens, reason = window, "the sliding window, which is disabled"
    rope = facts.rope_scaling or {}
    rope_type = str(rope.get("rope_type") or rope.get("type") or "default")
    if rope_type == "longrope" and case.follows("longrope_starts_at_original"):
        original = facts.extra.get("original_max_position_embeddings")
        if original is not None:
            return whole_number(
                original, "the original length"
            ), "original_max_position_embeddings of a LongRoPE model"
    if "gemma3" in str(facts.model_type) or rope_type in SCALED_ALREADY:
        return int(tokens), reason
    factor = number(rope.get("factor") or 1.0, "the RoPE factor")
    if rope_type in YARN:
        if not case.follows("yarn_factor_applied"):
            return int(tokens), reason
        original = rope.get("original_max_position_embeddings", tokens)
        tokens = number(original, "original_max_position_embeddings")
    return int(tokens * factor), f"{reason} with RoPE scaling {rope_type} x {factor:g}"
