"""Batching: chunked prefill, the token budget and the batch width."""

from __future__ import annotations

from typing import Any

from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.gpus import GIB, Gpu
from scheduler_reader.resolve.case import Case, Range, table
from scheduler_reader.resolve.model_shape import (
    is_encoder_decoder,
    is_multimodal,
    is_pooling,
    pools_last_token,
    pools_whole_prompt,
)
from scheduler_reader.resolve.speculation import speculative_config
from scheduler_reader.value import Known

BUDGET = "max_num_batched_tokens"
SEQS = "max_num_seqs"
CHUNKED = "enable_chunked_prefill"
THRESHOLD = "long_prefill_token_threshold"


def resolve_chunked_prefill(case: Case) -> Known[Any]:
    """`enable_chunked_prefill`: forced, as written, or by what the model supports."""
    if case.get("engine") == "V0":
        return case.written(CHUNKED) or _v0_chunked_prefill(case)
    supported, reason = _chunked_prefill_support(case)
    if case.follows("chunked_prefill_forced") and not is_pooling(case):
        if not supported:
            return case.decided(False, reason)
        return case.by_behaviour(True, "chunked_prefill_forced")
    return case.written(CHUNKED) or case.by_default(supported, reason)


def resolve_budget(case: Case) -> Known[Any]:
    """`max_num_batched_tokens`: the tier's default, raised, doubled and capped as that release does."""
    if case.follows("whole_prompt_pooling_sets_budget") and pools_whole_prompt(case):
        least = table("batching")["v0"]["least_unchunked_tokens"]
        tokens = max(case.get("max_model_len"), least)
        return case.by_behaviour(tokens, "whole_prompt_pooling_sets_budget")
    written = case.written(BUDGET)
    if written is not None and written.value is not None:
        return written
    if case.get("engine") == "V0":
        return _v0_budget(case)
    if not case.get(CHUNKED) and case.follows("unchunked_pooling_budget_is_length"):
        return case.by_behaviour(case.get("max_model_len"), "unchunked_pooling_budget_is_length")
    tokens, reasons = _default_budget(case)
    if _is_throughput_mode(case):
        tokens *= 2
        reasons.append("doubled by performance_mode=throughput")
    if not case.get(CHUNKED) and case.follows("unchunked_budget_raised_to_length"):
        tokens = max(tokens, case.get("max_model_len"))
        reasons.append("at least max_model_len because prefill is not chunked")
    if case.follows("budget_capped_at_seqs_times_length"):
        seqs = _seqs_before_cap(case)[0]
        can_bind = seqs * table("batching")["least_model_length"] < tokens
        if can_bind and seqs * case.get("max_model_len") < tokens:
            tokens = seqs * case.get("max_model_len")
            reasons.append("capped at max_num_seqs x max_model_len")
    return case.by_default(tokens, ", ".join(reasons))


def resolve_seqs(case: Case) -> Known[Any]:
    """`max_num_seqs`: the tier's default, lowered to the budget where that release does so."""
    written = case.written(SEQS)
    if written is not None and written.value is not None:
        return written
    if case.get("engine") == "V0":
        return case.by_default(table("batching")["v0"][SEQS], "of the V0 engine")
    seqs, reason = _seqs_before_cap(case)
    budget = case.get(BUDGET)
    if case.follows("seqs_capped_at_budget") and budget < seqs:
        return case.by_behaviour(budget, "seqs_capped_at_budget")
    return case.by_default(seqs, reason)


def resolve_threshold(case: Case) -> Known[Any]:
    """`long_prefill_token_threshold` in tokens; 0 is no limit."""
    written = case.written(THRESHOLD)
    if case.follows("threshold_off_without_chunks") and not _chunked_prefill_support(case)[0]:
        return case.by_behaviour(0, "threshold_off_without_chunks")
    unset = written is None or written.value == 0
    if (
        unset
        and case.follows("partial_prefills_set_threshold")
        and (case.argument("max_num_partial_prefills") or 1) > 1
    ):
        share = table("batching")["partial_prefill_threshold_share"]
        return case.by_behaviour(
            int(case.get("max_model_len") * share), "partial_prefills_set_threshold"
        )
    return written or case.by_default(0, "no limit")


def _chunked_prefill_support(case: Case) -> tuple[bool, str]:
    """Whether the model's prefill can be cut (ModelConfig.is_chunked_prefill_supported)."""
    if is_pooling(case):
        last = pools_last_token(case)
        return last, f"{'on' if last else 'off'} for this pooling model"
    if is_encoder_decoder(case):
        return False, "off for encoder-decoder models"
    return True, "on for generating models"


def _default_budget(case: Case) -> tuple[int, list[str]]:
    """The default before any adjustment, and the words for it."""
    data = table("batching")
    batched = data["batched_data_parallel"]
    if (
        case.follows("batched_data_parallel_budget")
        and case.argument("all2all_backend") in batched["all2all_backends"]
        and case.argument("enable_expert_parallel")
        and (case.argument("data_parallel_size") or 1) > 1
    ):
        return batched[BUDGET], ["of the batched all-to-all backends"]
    tier = _tier(case)
    return tier[BUDGET][case.context], [_tier_words(case, tier)]


def _seqs_before_cap(case: Case) -> tuple[int, str]:
    written = case.written(SEQS)
    if written is not None and written.value is not None:
        return written.value, "as written"
    tier = _tier(case)
    seqs, reason = tier[SEQS][case.context], _tier_words(case, tier)
    if _is_throughput_mode(case):
        return seqs * 2, f"{reason}, doubled by performance_mode=throughput"
    return seqs, reason


def _is_throughput_mode(case: Case) -> bool:
    return (
        case.follows("throughput_mode_doubles")
        and case.argument("performance_mode") == "throughput"
    )


def _tier(case: Case) -> Range:
    for tier in table("batching")["tiers"]:
        if case.within(tier) and _is_of_tier(case.gpu, tier["gpu"]):
            entry: Range = tier
            return entry
    raise DataError(f"compat_matrix/defaults/batching.yaml has no tier for {case.release.name}")


def _is_of_tier(gpu: Gpu, wanted: Range) -> bool:
    name = gpu.device_name.lower()
    return (
        gpu.memory_bytes >= wanted.get("memory_gib", 0) * GIB
        and ("name_has" not in wanted or any(part in name for part in wanted["name_has"]))
        and ("name_lacks" not in wanted or wanted["name_lacks"] not in name)
        and gpu.compute_capability != wanted.get("capability_not")
    )


def _tier_words(case: Case, tier: Range) -> str:
    entrypoint = "the server" if case.context == "serve" else "the LLM class"
    return f"{entrypoint} on {tier['says']} ({tier['source']})"


def _v0_chunked_prefill(case: Case) -> Known[Any]:
    """vllm/engine/arg_utils.py, _set_default_args_v0: on for long contexts of plain models."""
    if is_multimodal(case) or case.facts.uses_mla:
        return case.by_default(False, "off in V0 for multimodal and latent-attention models")
    if case.get("max_model_len") <= table("batching")["v0"]["long_context_tokens"]:
        return case.by_default(False, "off in V0 up to 32,768 tokens of context")
    blocked = (
        case.facts.sliding_window is not None
        or bool(speculative_config(case))
        or case.argument("enable_lora")
        or case.argument("enable_prompt_adapter")
        or is_pooling(case)
    )
    if blocked:
        return case.by_default(
            False, "off in V0 with a sliding window, speculation, LoRA or pooling"
        )
    return case.by_default(True, "on in V0 above 32,768 tokens of context")


def _v0_budget(case: Case) -> Known[Any]:
    """vllm/config.py, SchedulerConfig.__post_init__."""
    data = table("batching")["v0"]
    length = case.get("max_model_len")
    chunked_tokens = case.pick(data["chunked_tokens"])
    if case.get(CHUNKED) and chunked_tokens is not None:
        tokens, reason = chunked_tokens["value"], "V0 with chunked prefill"
        if (case.argument("num_scheduler_steps") or 1) > 1:
            tokens, reason = max(tokens, length), "V0 with several scheduler steps"
    else:
        tokens = max(length, data["least_unchunked_tokens"])
        reason = "V0 without chunked prefill: max_model_len"
    if is_pooling(case):
        tokens = max(tokens, data["least_pooling_tokens"])
    multimodal = case.pick(data["least_multimodal_tokens"])
    if is_multimodal(case) and multimodal is not None:
        tokens = max(tokens, multimodal["value"])
    if case.follows("v0_budget_capped_at_seqs_times_length"):
        written = case.written(SEQS)
        seqs = data[SEQS] if written is None else written.value
        tokens = min(tokens, seqs * length)
    return case.by_default(tokens, reason)
