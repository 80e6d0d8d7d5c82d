"""The KV cache: prefix caching and the block size."""

from __future__ import annotations

from typing import Any

from scheduler_reader.resolve.case import Case, Range, table
from scheduler_reader.resolve.model_shape import (
    has_recurrent_layers,
    is_attention_free,
    is_encoder_decoder,
    is_multimodal,
    is_pooling,
    pools_last_token,
    pools_whole_prompt,
    uses_sparse_attention,
)
from scheduler_reader.value import Known

NAME = "enable_prefix_caching"


def resolve_prefix_caching(case: Case) -> Known[Any]:
    """`enable_prefix_caching`.  None in the V0 engine when nobody asks for it: off."""
    written = case.written(NAME)
    if case.follows("whole_prompt_pooling_is_not_cached") and pools_whole_prompt(case):
        return case.by_behaviour(False, "whole_prompt_pooling_is_not_cached")
    if case.get("engine") == "V0":
        return _in_v0(case, written)
    recurrent = has_recurrent_layers(case)
    if recurrent and case.follows("prefix_caching_off_for_state_models"):
        return case.by_behaviour(False, "prefix_caching_off_for_state_models")
    if case.argument("enable_prompt_embeds") and case.follows(
        "prompt_embeds_turn_prefix_caching_off"
    ):
        return case.by_behaviour(False, "prompt_embeds_turn_prefix_caching_off")
    if written is None:
        return _by_default(case)
    if (
        recurrent
        and written.value
        and case.follows("state_prefix_caching_needs_support")
        and case.architecture not in table("caching")["state_prefix_caching"]
    ):
        return case.by_behaviour(False, "state_prefix_caching_needs_support")
    return written


def resolve_block_size(case: Case) -> Known[Any]:
    """`block_size` in tokens, as the default attention kernel takes it.

    For models with recurrent layers this is the size before start-up, where vLLM raises it until
    one attention page holds one state (that needs the state's size: the capacity stage).
    """
    written = case.written("block_size")
    stated = None if written is None else written.value
    if case.facts.uses_mla:
        for entry in table("caching")["mla_block_size"]:
            if case.within(entry) and _is_kernel(case, entry):
                if written is not None and _is_kept(stated, entry):
                    return written
                return case.decided(
                    entry["sizes"], f"of the latent-attention kernel of {case.gpu.title}"
                )
    if written is not None and stated is not None:
        return written
    detail = "block size of the default attention kernels"
    if has_recurrent_layers(case):
        detail += "; start-up raises it until a block holds one recurrent state"
    return case.by_default(table("caching")["default_block_size"], detail)


def _in_v0(case: Case, written: Known[Any] | None) -> Known[Any]:
    if written is None:
        return case.by_default(None, "off in the V0 engine")
    if written.value and case.follows("v0_multimodal_prefix_caching_off") and is_multimodal(case):
        return case.by_behaviour(False, "v0_multimodal_prefix_caching_off")
    return written


def _by_default(case: Case) -> Known[Any]:
    if not case.follows("prefix_caching_on_by_default"):
        return case.by_default(not is_multimodal(case), "on for text models in the V1 engine")
    if is_pooling(case):
        return case.by_default(pools_last_token(case), "on where the last token is pooled")
    if not case.follows("prefix_caching_by_model_shape"):
        return case.by_behaviour(True, "prefix_caching_on_by_default")
    if is_encoder_decoder(case):
        return case.by_default(False, "off for encoder-decoder models")
    if is_attention_free(case):
        return case.by_default(False, "off for models without attention")
    if has_recurrent_layers(case):
        on = case.follows("hybrid_prefix_caching_on_by_default")
        return case.by_default(on, f"{'on' if on else 'off'} for models with recurrent layers")
    return case.by_default(True, "on for generating models")


def _is_kernel(case: Case, entry: Range) -> bool:
    quantized = str(case.get("kv_cache_dtype")).startswith("fp8")
    return (
        case.gpu.vendor == "nvidia"
        and case.gpu.capability[0] in entry["majors"]
        and (not entry.get("sparse") or uses_sparse_attention(case))
        and (not entry.get("quantized_kv") or quantized)
        and entry.get("nope_dim", case.facts.qk_nope_head_dim) == case.facts.qk_nope_head_dim
    )


def _is_kept(stated: Any, entry: Range) -> bool:
    if stated is None:
        return False
    if entry.get("stated_wins"):
        return True
    if entry["keeps_multiples"]:
        return bool(stated % entry["sizes"] == 0)
    return bool(stated == entry["sizes"])
