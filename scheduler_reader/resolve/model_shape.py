"""The shape of a model as vLLM's defaults see it: pooling, recurrent, encoder-decoder, multimodal.

A model that is not known is taken for a decoder that generates text; `resolution.py` says so.
"""

from __future__ import annotations

from scheduler_reader.resolve.case import Case

POOLING_TASKS = ("embed", "embedding", "classify", "score", "reward")
POOLING_CONVERSIONS = ("embed", "classify", "reward")
DECODERS = ("ForCausalLM", "ForConditionalGeneration")


def is_pooling(case: Case) -> bool:
    """Whether the engine pools hidden states instead of generating tokens."""
    runner, task, convert = (case.argument(name) for name in ("runner", "task", "convert"))
    if runner in ("pooling", "generate"):
        return bool(runner == "pooling")
    if task not in (None, "auto"):
        return task in POOLING_TASKS
    if convert in POOLING_CONVERSIONS and case.follows("convert_implies_pooling"):
        return True
    return case.is_model_known and case.facts.is_pooling


def pools_last_token(case: Case) -> bool:
    """Whether a pooling model reads the last token only, so that its prefill can be cut.

    The pooler configuration decides; without one, decoder models pool the last token in newer
    releases, and encoders (no causal attention) the first or all.
    """
    for name in ("pooler_config", "override_pooler_config"):
        config = case.argument(name)
        if isinstance(config, dict):
            pooling = config.get("seq_pooling_type") or config.get("pooling_type")
            if pooling is not None:
                return str(pooling).upper() == "LAST"
    if not case.follows("decoders_pool_last_token"):
        return False
    return not case.is_model_known or case.architecture.endswith(DECODERS)


def pools_whole_prompt(case: Case) -> bool:
    """Whether a pooling model reads more than the last token, so that its prefill stays whole."""
    return is_pooling(case) and not pools_last_token(case)


def has_recurrent_layers(case: Case) -> bool:
    """Whether some layers keep a state instead of KV blocks (mamba, linear attention)."""
    return case.is_model_known and case.facts.is_hybrid


def is_attention_free(case: Case) -> bool:
    """Whether all layers are recurrent."""
    kinds = case.facts.layer_kinds if case.is_model_known else ()
    return bool(kinds) and all(kind in ("mamba", "linear", "none") for kind in kinds)


def is_multimodal(case: Case) -> bool:
    """Whether the model takes images or other media."""
    return case.is_model_known and case.facts.vision is not None


def is_encoder_decoder(case: Case) -> bool:
    """Whether an encoder reads the prompt (Whisper, BART)."""
    return case.is_model_known and case.facts.is_encoder_decoder


def uses_sparse_attention(case: Case) -> bool:
    """Whether an index picks the tokens to attend to (DeepSeek sparse attention)."""
    return "index_topk" in case.facts.extra
