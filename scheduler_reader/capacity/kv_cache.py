"""How vLLM cuts memory into KV blocks: groups of layers that share a block table.

All groups draw from one pool of equal blocks.  A block holds one page (`block_size` tokens of one
layer) for every layer of a group; a request needs blocks in each group.  Source:
vllm/v1/core/kv_cache_utils.py and v1/kv_cache_interface.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from scheduler_reader.capacity.constants import table, value_at
from scheduler_reader.capacity.draft import draft_layers
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.modules import attention_shape, heads_per_rank
from scheduler_reader.capacity.recurrent import RECURRENT, aligned_block_size, state_blocks
from scheduler_reader.capacity.stages import Stage
from scheduler_reader.knowledge.models import LayerKind
from scheduler_reader.knowledge.versions import Release


@dataclass(frozen=True, slots=True)
class KvGroup:
    """Layers of one kind that share a block table.

    `window` is the sliding window or the attention chunk in tokens.  `in_flight_tokens` is what
    scheduled but unsettled steps may add to a window.  `shards`: context-parallel ranks that share
    a full group's tokens.
    """

    kind: LayerKind
    layers: int
    block_size: int
    window: int = 0
    in_flight_tokens: int = 0
    shards: int = 1
    state_blocks: int = 0  # recurrent layers: blocks of a request; 0: as many as attention

    def blocks(self, length: int) -> int:
        """Blocks that one request of `length` tokens needs at most."""
        if self.state_blocks:
            return self.state_blocks
        if self.kind == "full" or self.kind in RECURRENT:
            return ceil(ceil(length / self.shards) / self.block_size)
        if self.kind == "sliding":  # the window may start inside a block: one more
            held = min(self.window - 1 + self.in_flight_tokens, length)
            return ceil(held / self.block_size) + 1
        return ceil(min(self.window + self.in_flight_tokens, length) / self.block_size)


@dataclass(frozen=True, slots=True)
class KvLayout:
    """The groups of one pipeline stage.  `page_bytes` is one layer's share of a block."""

    groups: tuple[KvGroup, ...]
    page_bytes: float

    @property
    def layers_per_block(self) -> int:
        return max(group.layers for group in self.groups)

    @property
    def block_bytes(self) -> float:
        return self.page_bytes * self.layers_per_block

    @property
    def block_size(self) -> int:
        return min(group.block_size for group in self.groups)

    @property
    def bytes_per_token(self) -> float:
        """KV bytes that one more token takes on this rank while it is in every window."""
        attention = (group for group in self.groups if not group.state_blocks)
        return sum(self.page_bytes / group.block_size * group.layers for group in attention)

    def blocks(self, length: int) -> int:
        """Blocks that one request of `length` tokens needs in all groups together."""
        return sum(group.blocks(length) for group in self.groups)

    def longest(self, blocks: int, limit: int) -> int:
        """The largest length up to `limit` whose request fits in `blocks`; 0: none does."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.blocks(middle) <= blocks else (low, middle - 1)
        return low

    def printed_tokens(self, blocks: int, length: int, release: Release) -> int:
        """`GPU KV cache size`: what that release prints for a pool of `blocks`."""
        if value_at("printed_tokens", release) == "concurrency":
            return int(self.concurrency(blocks, length) * length)
        shards = self.groups[0].shards
        return blocks // len(self.groups) * self.block_size * shards

    def concurrency(self, blocks: int, length: int) -> float:
        """`Maximum concurrency`: requests of `length` tokens that `blocks` hold at once."""
        return blocks / self.blocks(length)


def layout(inputs: CapacityInputs, stage: Stage) -> KvLayout:
    """The KV groups of a stage.  Raises `MissingFactError` for layers not modelled yet."""
    counts = _attention_layers(inputs, stage)
    release = inputs.release
    has_groups = not inputs.hybrid_manager_off and value_at("hybrid_groups", release)
    token_bytes = {kind: token_layer_bytes(inputs, kind) for kind in counts}
    if len(counts) > 1 and not has_groups:  # window layers then keep all tokens
        if len(set(token_bytes.values())) > 1:
            raise MissingFactError("layers of two head sizes without KV groups are not modelled")
        counts = {"full": sum(counts.values())}
    block_sizes = _block_sizes(inputs, token_bytes)
    steps = min(inputs.batches_in_flight, value_at("window_batches", release))
    return KvLayout(
        cut_groups(
            counts,
            padding_ratio=value_at("group_padding", release),
            block_sizes=block_sizes,
            windows={
                "sliding": inputs.model.sliding_window or 0,
                "chunked": inputs.model.attention_chunk_size or 0,
            },
            in_flight_tokens=inputs.token_budget * steps,
            shards=inputs.context_parallel,
            state_blocks=state_blocks(inputs),
        ),
        max(block_sizes[kind] * size for kind, size in token_bytes.items()),
    )


def _block_sizes(
    inputs: CapacityInputs, token_bytes: Mapping[LayerKind, float]
) -> dict[LayerKind, int]:
    """Tokens of a block by layer kind: all pages are equal, so smaller layers hold more tokens.

    Recurrent layers follow attention, whose blocks are long enough for a state.
    """
    size = inputs.block_size
    if any(kind in RECURRENT for kind in token_bytes):
        size = aligned_block_size(inputs, max(token_bytes.values()))
    largest = max(token_bytes.values())
    sizes: dict[LayerKind, int] = {"full": size}
    for kind, layer_bytes in token_bytes.items():
        ratio = largest / layer_bytes
        rule = value_at("pages_of_two_sizes", inputs.release) if ratio != 1 else "longer blocks"
        if rule == "refused" or (rule == "longer blocks" and not ratio.is_integer()):
            raise MissingFactError(
                f"vLLM {inputs.release.name} has no KV layout for layers of {layer_bytes:g} and "
                f"{largest:g} bytes a token"
            )
        sizes[kind] = size * int(ratio) if ratio.is_integer() else size
    return sizes


def _attention_layers(inputs: CapacityInputs, stage: Stage) -> dict[LayerKind, int]:
    model = inputs.model
    for fact, words in table()["unmodelled_kv"].items():
        if model.extra.get(fact):
            raise MissingFactError(f"the KV layout of {model.id} is not modelled: {words}")
    counts = dict(Counter(stage.kinds(model)))
    counts.pop("none", None)
    if drafts := draft_layers(inputs) * stage.is_last:
        counts["full"] = counts.get("full", 0) + drafts
    if not set(counts) - set(RECURRENT):
        raise MissingFactError(f"{model.id} has no attention layers on a pipeline stage")
    return counts


def cut_groups(
    counts: Mapping[LayerKind, int],
    *,
    padding_ratio: float,
    block_sizes: Mapping[LayerKind, int],
    windows: Mapping[LayerKind, int],
    in_flight_tokens: int,
    shards: int,
    state_blocks: int = 1,
) -> tuple[KvGroup, ...]:
    """Groups of equal size (the last ones may be padded) out of layer counts by kind."""
    per_group = layers_per_group(counts, padding_ratio)
    groups: list[KvGroup] = []
    for kind, layers in counts.items():
        block_size = block_sizes[kind]
        count = ceil(layers / per_group)
        for index in range(count):
            held = len(range(index, layers, count))
            if kind == "full":
                groups.append(KvGroup(kind, held, block_size, shards=shards))
            elif kind in RECURRENT:
                groups.append(KvGroup(kind, held, block_size, state_blocks=state_blocks))
            else:
                groups.append(KvGroup(kind, held, block_size, windows[kind], in_flight_tokens))
    return tuple(groups)


def layers_per_group(counts: Mapping[LayerKind, int], padding_ratio: float) -> int:
    """Layers of a group: the rarest kind's count, or the commonest's where they are close.

    Source: _get_kv_cache_groups_uniform_page_size.
    """
    least, most = min(counts.values()), max(counts.values())
    return most if most < least * padding_ratio else least


def token_layer_bytes(inputs: CapacityInputs, kind: LayerKind) -> float:
    """KV bytes of one token in one attention layer on one rank.

    MLA keeps one latent vector, replicated on every tensor-parallel rank.
    Sparse attention's indexer keeps a key of its own (DeepSeek V3.2: deepseek_v2.py,
    DeepseekV32IndexerCache).
    """
    model, kv_dtype = inputs.model, inputs.kv_dtype
    if model.uses_mla:
        formats = table()["mla_bytes_per_token"]
        width = int(model.kv_lora_rank or 0) + int(model.qk_rope_head_dim or 0)
        latent = formats.get(kv_dtype) or width * table()["kv_cache_dtypes"][kv_dtype]
        indexed = int(model.extra.get("index_head_dim") or 0)  # 8-bit keys and a 32-bit scale
        return float(latent + (indexed + 4 if indexed else 0))
    kv_heads, head_size = attention_shape(model, kind)
    heads = heads_per_rank(kv_heads, inputs.tensor_parallel)
    return float(2 * heads * head_size * table()["kv_cache_dtypes"][kv_dtype])
