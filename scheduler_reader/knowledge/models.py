"""Model facts: what a `config.json` says about layers, heads, experts, weights and precision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Literal

from scheduler_reader.data import documents, with_tuples
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.model_names import hub_ids, spelling, split_quantization
from scheduler_reader.knowledge.quantization import Quantization, from_flag
from scheduler_reader.knowledge.safetensors import StoredWeights
from scheduler_reader.record import Record
from scheduler_reader.value import Origin, Unknown

__all__ = ["FoundModel", "LayerKind", "ModelFacts", "Quantization", "all_models", "find_model"]

LayerKind = Literal["full", "sliding", "chunked", "linear", "mamba", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model.  Sizes are elements; a field that the source does not give is None."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    id: str
    architecture: str  # config.json architectures[0]
    model_type: str | None = None
    dtype: str = "bfloat16"  # torch_dtype of the checkpoint
    hidden_size: int
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int | None = None
    vocab_size: int
    max_position_embeddings: int | None = None
    rope_scaling: Mapping[str, Any] | None = None
    tied_embeddings: bool = False
    sliding_window: int | None = None
    attention_chunk_size: int | None = None
    layer_kinds: tuple[LayerKind, ...] = ()  # one a layer; empty: all full attention
    # latent attention (MLA)
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    qk_nope_head_dim: int | None = None
    v_head_dim: int | None = None
    # mixture of experts
    experts: int = 0
    experts_per_token: int = 0
    moe_intermediate_size: int | None = None
    shared_expert_intermediate_size: int | None = None  # of all shared experts together
    dense_layers: int = 0  # leading layers without experts
    moe_layers: tuple[int, ...] = ()  # layers with experts; empty: all after the leading dense ones
    # other parts
    vision: Mapping[str, Any] | None = None
    mtp_layers: int = 0
    extra: Mapping[str, Any] = field(
        default_factory=dict
    )  # mamba, linear attention and other facts
    quantization: Quantization | None = None
    parameters: float | None = None  # published count
    weight_bytes: int | None = None  # published size of the checkpoint
    stored: StoredWeights | None = None  # of a local checkpoint, tensor by tensor
    is_pooling: bool = False
    is_encoder_decoder: bool = False
    aliases: tuple[str, ...] = ()
    source: str

    @property
    def is_moe(self) -> bool:
        return self.experts > 0

    @property
    def uses_mla(self) -> bool:
        return self.kv_lora_rank is not None

    @property
    def is_hybrid(self) -> bool:
        """Attention layers beside mamba or linear-attention layers."""
        return any(kind in ("linear", "mamba") for kind in self.layer_kinds)

    @property
    def is_dense_full_attention(self) -> bool:
        """Plain MHA/GQA/MQA in every layer, no experts: the simple case of the capacity model."""
        return not self.is_moe and not self.uses_mla and all(k == "full" for k in self.layer_kinds)


class FoundModel(Record):
    """A model of the catalogue; `assumption` says in words how another id was read as it."""

    facts: ModelFacts
    origin: Origin
    assumption: str | None = None


def find_model(text: str, quantization_flag: str | None = None) -> FoundModel | Unknown:
    """The catalogue's facts for a Hub id, a re-upload or quantization of one, or a local folder.

    `quantization_flag` is the value of `--quantization`, where given.  An id that is not known
    is `Unknown`, with the nearest ids in the reason; nothing is guessed from sizes in a name.
    """
    for name in hub_ids(text):
        found = _found(name, text)
        if found is not None:
            return _with_flag(found, quantization_flag)
    return Unknown(f"{text} is not in the model catalogue ({_nearest(text)}); give --model-config")


def all_models() -> tuple[ModelFacts, ...]:
    """The whole catalogue, by id."""
    facts = (_facts(path) for path in documents("compat_matrix", "models/"))
    return tuple(sorted(facts, key=lambda model: model.id.lower()))


def _found(name: str, text: str) -> FoundModel | Unknown | None:
    path = _lookup(name)
    if path:
        facts = _facts(path)
        exact = name == text and _ids().get(spelling(name)) == path
        return _answer(facts, None if exact else f"{text} is read as {facts.id}")
    named = split_quantization(name)
    path = _lookup(named.base) if named else None
    if not named or not path:
        return None
    if named.reason:
        return Unknown(f"{text}: {named.reason}")
    base = _facts(path)
    kind = named.quantization
    facts = replace(base, quantization=kind, weight_bytes=None)
    stored = f"{kind.method}, {kind.weight_bits:g} bits a weight" if kind else "not quantized"
    return _answer(facts, f"{text} is read as {base.id} with the weights its name says: {stored}")


def _answer(facts: ModelFacts, assumption: str | None) -> FoundModel:
    return FoundModel(facts, Origin("catalogue", f"{facts.id}: {facts.source}"), assumption)


def _with_flag(found: FoundModel | Unknown, flag: str | None) -> FoundModel | Unknown:
    """`--quantization` of a checkpoint that is not quantized: vLLM does it while loading."""
    if isinstance(found, Unknown) or not flag or found.facts.quantization:
        return found
    quantization = from_flag(flag)
    if quantization is None:
        return Unknown(f"how --quantization {flag} stores {found.facts.id} is not known")
    facts = replace(found.facts, quantization=quantization, weight_bytes=None)
    return FoundModel(facts, found.origin, found.assumption)


def _lookup(name: str) -> str | None:
    """Path of the document with this id or alias, else of one that another owner publishes.

    A quantization (a document with a `base`) is only taken for its own owner, or where no owner
    is named: the same suffix means different formats at different owners.
    """
    owner, _, bare = name.rpartition("/")
    path = _ids().get(spelling(name)) or _names(quantized=False).get(spelling(bare))
    return path or (None if owner else _names(quantized=True).get(spelling(bare)))


@cache
def _ids() -> dict[str, str]:
    """Spelling of every id and alias → document path; nothing is validated here."""
    return {
        spelling(name): path
        for path, document in documents("compat_matrix", "models/").items()
        for name in (*document.get("aliases", ()), document["id"])
    }


@cache
def _names(*, quantized: bool) -> dict[str, str]:
    """Spelling of every id and alias without its owner → document path.

    A name without `-Instruct` and the like is a model of its own, or else the tuned one.
    """
    names: dict[str, str] = {}
    for path, document in documents("compat_matrix", "models/").items():
        if ("base" in document) == quantized:
            for name in (document["id"], *document.get("aliases", ())):
                names.setdefault(spelling(name.rpartition("/")[2]), path)
    tuned = {re.sub(r"-(instruct|it|chat|chat-hf|hf)$", "", name): at for name, at in names.items()}
    return tuned | names


@cache
def _facts(path: str) -> ModelFacts:
    """The facts of one document; what it does not say comes from the model it names as `base`."""
    document = with_tuples(documents("compat_matrix", "models/")[path])
    base = document.pop("base", None)
    try:
        if "quantization" in document:
            document["quantization"] = Quantization(**with_tuples(document["quantization"]))
        if base is None:
            return ModelFacts(**document)
        shape = _facts(_ids()[spelling(base)])
        return replace(shape, **{"aliases": (), "weight_bytes": None, **document})
    except (TypeError, KeyError) as error:
        raise DataError(f"{path}: {error}") from error


def _nearest(text: str) -> str:
    from difflib import get_close_matches

    bare = spelling(text.rstrip("/").rpartition("/")[2])
    names = _names(quantized=False)
    near = [_facts(names[name]).id for name in get_close_matches(bare, names, n=3, cutoff=0.75)]
    return f"nearest: {', '.join(dict.fromkeys(near))}" if near else "nothing is named like it"
