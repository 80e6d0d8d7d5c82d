"""Facts about the model: what its config.json says, or the catalogue."""

from __future__ import annotations

from scheduler_reader.data import json_file
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown, Value


def model_id(sources: Sources) -> str | Unknown:
    """The model as it is named in the configuration."""
    value = sources.engine.model_id
    return value if isinstance(value, Unknown) else value.value


def architecture(sources: Sources) -> str | Unknown:
    """Class of the model: architectures[0] of config.json."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.architecture


def is_registered(sources: Sources) -> bool | Unknown:
    """The release has a model class for the architecture."""
    ranges = _registrations(sources)
    if isinstance(ranges, Unknown):
        return ranges
    return any(sources.engine.release.within(first, last) for first, last in ranges)


def registered_from(sources: Sources) -> str | Unknown | None:
    """The first release that has a model class for the architecture; None: no release has."""
    ranges = _registrations(sources)
    if isinstance(ranges, Unknown):
        return ranges
    return ranges[0][0] if ranges else None


def registered_until(sources: Sources) -> str | Unknown | None:
    """The last release that has a model class for the architecture; None: no release has."""
    ranges = _registrations(sources)
    if isinstance(ranges, Unknown):
        return ranges
    return ranges[-1][1] if ranges else None


def model_type(sources: Sources) -> str | Unknown | None:
    """Family of the model: model_type of config.json."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.model_type


def is_moe(sources: Sources) -> bool | Unknown:
    """The model has a mixture of experts."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.is_moe


def experts(sources: Sources) -> int | Unknown:
    """Routed experts of a layer; 0 for a dense model."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.experts


def moe_intermediate_size(sources: Sources) -> int | Unknown | None:
    """Width of one expert."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.moe_intermediate_size


def intermediate_size(sources: Sources) -> int | Unknown | None:
    """Width of a dense MLP."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.intermediate_size


def largest_head_size(sources: Sources) -> int | Unknown:
    """Elements of the widest attention head: Gemma 4's full layers have wider ones."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    return max(model.value.head_dim, int(model.value.extra.get("global_head_dim") or 0))


def uses_mla(sources: Sources) -> bool | Unknown:
    """Latent attention (MLA): one latent vector a token instead of keys and values by head."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.uses_mla


def is_hybrid(sources: Sources) -> bool | Unknown:
    """The model has mamba or linear-attention layers, which keep a state instead of a KV cache."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.is_hybrid


def has_sliding_window(sources: Sources) -> bool | Unknown:
    """Some layers attend to a sliding window only."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    return "sliding" in model.value.layer_kinds or model.value.sliding_window is not None


def is_all_sliding(sources: Sources) -> bool | Unknown:
    """Every layer attends to the sliding window only."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    return set(model.value.layer_kinds) == {"sliding"}


def has_chunked_attention(sources: Sources) -> bool | Unknown:
    """Some layers attend within chunks of the context only (attention_chunk_size)."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.attention_chunk_size is not None


def vocab_size(sources: Sources) -> int | Unknown:
    """Entries of the vocabulary."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.vocab_size


def is_multimodal(sources: Sources) -> bool | Unknown:
    """The model has a vision encoder."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.vision is not None


def mtp_layers(sources: Sources) -> int | Unknown:
    """Layers that predict further tokens by themselves (MTP)."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.mtp_layers


def rope_type(sources: Sources) -> str | Unknown | None:
    """How positions are scaled beyond the trained length (rope_scaling), or None."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    scaling = model.value.rope_scaling or {}
    kind: str | None = scaling.get("rope_type") or scaling.get("type")
    return kind


def vision_heads(sources: Sources) -> int | Unknown | None:
    """Attention heads of the vision encoder."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    vision = model.value.vision or {}
    heads: int | None = vision.get("num_heads") or vision.get("num_attention_heads")
    return heads


def is_pooling(sources: Sources) -> bool | Unknown:
    """The model embeds or classifies instead of generating."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.is_pooling


def is_encoder_decoder(sources: Sources) -> bool | Unknown:
    """The model has a separate encoder, such as Whisper."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.is_encoder_decoder


def attention_heads(sources: Sources) -> int | Unknown:
    """Query heads of one attention layer."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.attention_heads


def kv_heads(sources: Sources) -> int | Unknown:
    """Key-value heads of one attention layer."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.kv_heads


def layers(sources: Sources) -> int | Unknown:
    """Hidden layers."""
    model = _named(sources)
    return model if isinstance(model, Unknown) else model.value.layers


def derived_max_model_len(sources: Sources) -> int | Unknown:
    """The context length vLLM derives from config.json when nobody gives one, in tokens."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    setting = sources.engine.settings.get("max_model_len")
    if setting is None or not isinstance(setting.default, int):
        return Unknown("the model's own context length is not known")
    return setting.default


def checkpoint_quantization(sources: Sources) -> str | Unknown | None:
    """Quantization method of the checkpoint, by its config or its name; None: not quantized."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    quantization = model.value.quantization
    return quantization.method if quantization and quantization.declared else None


def declared_quantization(sources: Sources) -> str | Unknown | None:
    """checkpoint_quantization, known only where the checkpoint's own config is at hand."""
    model, model_id = _named(sources), sources.engine.model_id
    if isinstance(model, Unknown):
        return model
    is_same_model = not isinstance(model_id, Unknown) and model_id.value == model.value.id
    if model.origin.kind != "option" and not is_same_model:
        return Unknown("the checkpoint's own quantization config is not at hand (--model-config)")
    return checkpoint_quantization(sources)


def weight_bits(sources: Sources) -> float | Unknown:
    """Bits of a quantized linear weight; 16 or 32 where the checkpoint is not quantized."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    if model.value.quantization:
        return model.value.quantization.weight_bits
    return 32.0 if model.value.dtype == "float32" else 16.0


def weights_are_fp8(sources: Sources) -> bool | Unknown:
    """The checkpoint stores linear weights as 8-bit floating point."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    quantization = model.value.quantization
    if quantization is None or not quantization.declared or quantization.weight_bits != 8:
        return False
    if "fp8" in quantization.method or "float" in str(quantization.raw).lower():
        return True
    return not quantization.raw and "fp8" in model.value.id.lower()


def quantization_group_size(sources: Sources) -> int | Unknown | None:
    """Weights that share one scale; None: a scale for a tensor or a channel."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    return model.value.quantization.group_size if model.value.quantization else None


def quantization_block_size(sources: Sources) -> int | Unknown | None:
    """Rows of a block that shares one scale in a block-FP8 checkpoint."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    quantization = model.value.quantization
    return quantization.block[0] if quantization and quantization.block else None


def checkpoint_kv_cache_dtype(sources: Sources) -> str | Unknown | None:
    """KV-cache precision that the checkpoint declares."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    return model.value.quantization.kv_cache_dtype if model.value.quantization else None


def _registrations(sources: Sources) -> list[list[str]] | Unknown:
    """First and last release of each range that registers the architecture."""
    model = _named(sources)
    if isinstance(model, Unknown):
        return model
    known = json_file("architectures.json")["architectures"].get(model.value.architecture)
    ranges: list[list[str]] = known["versions"] if known else []
    return ranges


def _named(sources: Sources) -> Value[ModelFacts]:
    """The facts of the model that is named.

    Where none is, vLLM serves a small default model; but the file at hand is then most likely
    read beside a command line that names another.
    """
    model_id = sources.engine.model_id
    if not isinstance(model_id, Unknown) and model_id.origin.kind == "vllm default":
        return Unknown("no model is named")
    return sources.engine.model
