"""Model facts from a local `config.json`, which always wins over the catalogue."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.architectures import is_pooling
from scheduler_reader.knowledge.config_types import checked
from scheduler_reader.knowledge.expert_layers import expert_facts
from scheduler_reader.knowledge.layer_kinds import layer_kinds
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import read_quantization
from scheduler_reader.knowledge.safetensors import stored_weights
from scheduler_reader.validation import validated
from scheduler_reader.value import Origin

_MIXERS = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}  # letters of Nemotron-H
_MLA = ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")


def read_model_config(path: Path) -> ModelFacts:
    """The facts of a `config.json`, or of a model folder with the files that stand beside it.

    Raises `InputError` with the file and what is missing, also where the architecture's layers
    cannot be told: nothing is guessed.
    """
    file = path / "config.json" if path.is_dir() else path
    config = _read_json(file)
    exported = file.with_name("hf_quant_config.json")
    try:
        facts = facts_of(
            config,
            name=file.resolve().parent.name,
            source=str(file),
            exported=_read_json(exported) if exported.is_file() else None,
            weight_bytes=_weight_bytes(file.with_name("model.safetensors.index.json")),
        )
    except ValueError as error:
        message = f"not a model config that can be read: {error}"
        raise InputError(message, _at(file)) from error
    except (AttributeError, KeyError, TypeError) as error:  # somewhere inside a nested value
        raise InputError(f"a nested value has an unusual form: {error}", _at(file)) from error
    return replace(facts, stored=stored_weights(file.parent, facts.layers))


def facts_of(
    config: Mapping[str, Any],
    *,
    name: str,
    source: str,
    exported: Mapping[str, Any] | None = None,
    weight_bytes: int | None = None,
) -> ModelFacts:
    """The facts a parsed `config.json` states; `ValueError` says what is missing."""
    text = _text_config(config)
    layers = _spelled(text, "layers")
    words = text.get("layers_block_type") or text.get("layer_types")
    layers = int(layers or len(words or ()) or _missing("num_hidden_layers"))
    heads = int(_spelled(text, "attention_heads") or _missing("num_attention_heads"))
    hidden = int(_spelled(text, "hidden_size") or _missing("hidden_size"))
    uses_window = text.get("use_sliding_window") is not False
    architecture = (config.get("architectures") or text.get("architectures") or [None])[0]
    inner = _spelled(text, "intermediate_size")
    if inner is None and text.get("model_type") in ("gpt2", "bloom", "falcon", "gptj", "mpt"):
        inner = 4 * hidden  # what these classes compute
    kinds = layer_kinds(text, layers)
    return validated(
        ModelFacts,
        {
            "id": name,
            "architecture": architecture or _missing("architectures"),
            "model_type": text.get("model_type"),
            "dtype": _dtype(config, text),
            "hidden_size": hidden,
            "layers": layers,
            "attention_heads": heads,
            "kv_heads": _kv_heads(text, heads),
            "head_dim": _spelled(text, "head_dim") or hidden // heads,
            "intermediate_size": inner,
            "vocab_size": _spelled(text, "vocab_size") or _missing("vocab_size"),
            "max_position_embeddings": _positions(text),
            "rope_scaling": _rope_scaling(text),
            "tied_embeddings": _is_tied(config, text),
            "sliding_window": _spelled(text, "sliding_window") if uses_window else None,
            "attention_chunk_size": text["attention_chunk_size"] if "chunked" in kinds else None,
            "layer_kinds": kinds,
            "mtp_layers": _spelled(text, "mtp_layers") or 0,
            "vision": _vision(config),
            "extra": _extra(text),
            "quantization": read_quantization({**text, **config}, exported),
            "weight_bytes": weight_bytes,
            "is_pooling": is_pooling(architecture),
            "is_encoder_decoder": bool(config.get("is_encoder_decoder")),
            "source": source,
            **{key: text.get(key) for key in _MLA},
            **expert_facts(text, lambda field: _spelled(text, field), layers),
        },
    )


def _text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The language model's part, completed with what its config class fills in."""
    known = _known()
    text = dict(config)
    for key in known["text_configs"]:
        if isinstance(text.get(key), Mapping):
            text = dict(text[key])
            break
    if any(isinstance(text.get(key), Mapping) for key in known["text_configs"]):
        text = _text_config(text)
    text = checked(text, known)
    defaults = known["defaults"].get(text.get("model_type"), {})
    return {**defaults, **text}


def _known() -> dict[str, Any]:
    known: dict[str, Any] = documents("compat_matrix", "model_config.yaml")["model_config.yaml"]
    return known


def _spelled(config: Mapping[str, Any], field: str) -> Any:
    return _first(config, _known()["spellings"][field])


def _first(config: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((config[key] for key in keys if config.get(key) is not None), None)


def _missing(field: str) -> Any:
    raise ValueError(f"{field} is missing")


def _kv_heads(text: Mapping[str, Any], heads: int) -> int:
    """KV heads a layer; a config that names none has one for each attention head."""
    if text.get("block_configs"):  # Nemotron NAS
        groups = {block["attention"].get("n_heads_in_group") for block in text["block_configs"]}
        groups.discard(None)
        if len(groups) != 1:
            raise ValueError("the layers differ in KV heads")
        return heads // int(groups.pop())
    if text.get("multi_query") and not text.get("new_decoder_architecture"):
        return 1  # Falcon-7B, StarCoder
    if text.get("multi_query_attention") is False:
        return heads  # ChatGLM
    return int(_spelled(text, "kv_heads") or heads)


def _dtype(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    dtype = _spelled(config, "dtype") or _spelled(text, "dtype")
    return str(dtype or _known()["defaults"]["*"]["dtype"]).removeprefix("torch.")


def _positions(text: Mapping[str, Any]) -> int | None:
    """What vLLM takes as the model's own limit: `model_max_length` (Cohere), else the smallest."""
    if isinstance(text.get("model_max_length"), int):
        return int(text["model_max_length"])
    stated = [text[key] for key in _known()["max_position_embeddings"] if text.get(key)]
    return int(min(stated)) if stated else None


def _rope_scaling(text: Mapping[str, Any]) -> dict[str, Any] | None:
    """`rope_scaling`, or the `rope_parameters` of transformers 5 where they scale."""
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    if not isinstance(scaling, Mapping):
        return None
    if all(isinstance(part, Mapping) for part in scaling.values()):  # one a layer type
        scaling = scaling.get("full_attention") or next(iter(scaling.values()))
    kind = scaling.get("rope_type") or scaling.get("type")
    return dict(scaling) if kind not in (None, "default", "proportional") else None


def _is_tied(config: Mapping[str, Any], text: Mapping[str, Any]) -> bool:
    for part in (text, config, _known()["defaults"]["*"]):
        if part.get("tie_word_embeddings") is not None:
            return bool(part["tie_word_embeddings"])
    return False


def _vision(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The sizes of the vision encoder, under their own names."""
    for key in _known()["vision_configs"]:
        part = config.get(key)
        if isinstance(part, Mapping):
            sizes = {k: v for k, v in part.items() if type(v) is int and not k.endswith("_id")}
            deepstack = part.get("deepstack_visual_indexes")  # Qwen3-VL: one more merger each
            return sizes | ({"deepstack_layers": len(deepstack)} if deepstack else {})
    return None


def _extra(text: Mapping[str, Any]) -> dict[str, Any]:
    extra = {
        name: value
        for name, keys in _known()["extra"].items()
        if (value := _first(text, keys)) is not None
    }
    linear = text.get("linear_attn_config") or {}
    if linear:  # Kimi Linear: as many key heads as value heads
        extra |= {f"linear_{kind}_heads": linear["num_heads"] for kind in ("key", "value")}
        extra |= {f"linear_{kind}_head_dim": linear["head_dim"] for kind in ("key", "value")}
        extra["linear_conv_kernel"] = linear["short_conv_kernel_size"]
    if text.get("model_type") == "nemotron_h" and text.get("layers_block_type"):
        extra["hybrid_pattern"] = "".join(_MIXERS[word] for word in text["layers_block_type"])
    if text.get("block_configs"):  # Nemotron NAS: a multiple of 256, as DeciLM computes it
        multipliers = [block["ffn"].get("ffn_mult") or 0 for block in text["block_configs"]]
        sizes = [int(2 * factor * text["hidden_size"] / 3) for factor in multipliers]
        extra["intermediate_sizes"] = [-(-size // 256) * 256 for size in sizes]
    return extra


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", _at(file)) from error
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", _at(file)) from error
    if not isinstance(content, dict):
        raise InputError("is not a JSON object", _at(file))
    return content


def _weight_bytes(index: Path) -> int | None:
    if not index.is_file():
        return None
    size = (_read_json(index).get("metadata") or {}).get("total_size")
    return int(size) if isinstance(size, int | float) and math.isfinite(size) else None


def _at(file: Path) -> Origin:
    return Origin("file", path=str(file))
