"""What one layer keeps of a request, in pages, and how layers are cut into KV groups.

A page is one layer's share of a block: `block_size` tokens, or one recurrent state.  Layers of a
group share a block table.  Source: vllm/v1/kv_cache_interface.py and v1/core/kv_cache_utils.py
(kv_cache_planning.py from 0.33.0), get_kv_cache_groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from scheduler_reader.capacity.constants import value_at
from scheduler_reader.knowledge.models import LayerKind
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record

RECURRENT: tuple[LayerKind, ...] = ("linear", "mamba")


class KvLayoutError(Exception):
    """The release has no KV layout for these layers together.  Never leaves `capacity/`."""


class KvLayer(Record):
    """One layer's KV cache on one rank.

    `window` is the sliding window or the attention chunk in tokens.  `in_flight_tokens` is what
    scheduled but unsettled steps may add to a window.  `shards`: context-parallel ranks that share
    a full layer's tokens.  `state_blocks`: blocks of a request in a recurrent layer; 0: as many as
    its tokens fill.
    """

    kind: LayerKind
    block_size: int
    page_bytes: float
    window: int = 0
    in_flight_tokens: int = 0
    shards: int = 1
    state_blocks: int = 0
    is_latent: bool = False  # MLA: its pages cannot be padded

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


class KvGroup(Record):
    """Layers, by number, that share a block table; on a pipeline stage some groups may be empty."""

    layers: Mapping[int, KvLayer]
    first: KvLayer

    @property
    def kind(self) -> LayerKind:
        return self.first.kind

    @property
    def block_size(self) -> int:
        return self.first.block_size

    @property
    def page_bytes(self) -> float:
        """Bytes that one block takes for all layers of the group."""
        return sum(layer.page_bytes for layer in self.layers.values())

    def blocks(self, length: int) -> int:
        """Blocks that one request of `length` tokens needs in this group."""
        return self.first.blocks(length)

    def on_stage(self, numbers: Mapping[int, KvLayer]) -> KvGroup:
        """The layers of this group that a pipeline stage holds."""
        held = {number: layer for number, layer in self.layers.items() if number in numbers}
        return self._replace(layers=held)


def cut_groups(
    layers: Mapping[int, KvLayer], release: Release, *, keeps_windows: bool = True
) -> tuple[KvGroup, ...]:
    """The groups of all layers together.  `keeps_windows` False: the hybrid manager is off.

    Raises `KvLayoutError` where the release refuses the mixture.
    """
    if not layers:
        if not value_at("attention_free_models", release):
            raise KvLayoutError(
                f"vLLM {release.name} has no KV layout for models without attention"
            )
        return ()
    if not keeps_windows:
        layers = promoted(layers)
    unlike = set(layers.values())
    if len({layer._replace(page_bytes=0, is_latent=False) for layer in unlike}) == 1:
        is_mixed = len({layer.page_bytes for layer in unlike}) > 1
        if is_mixed and not value_at("pages_of_two_sizes_in_one_group", release):
            raise KvLayoutError(_two_sizes(layers, release))
        return (_group(layers, list(layers)),)
    if not keeps_windows:
        raise KvLayoutError(
            f"vLLM {release.name} keeps layers this unlike only with the hybrid KV cache manager, which "
            "is off or not there yet"
        )
    same_page = with_one_page(layers, release)
    buckets: dict[KvLayer, list[int]] = {}
    for number, layer in same_page.items():
        buckets.setdefault(layer, []).append(number)
    size = layers_per_group([len(numbers) for numbers in buckets.values()], release)
    return tuple(
        _group(same_page, part)
        for numbers in buckets.values()
        for part in _parts(numbers, size, release)
    )


def promoted(layers: Mapping[int, KvLayer]) -> dict[int, KvLayer]:
    """Window layers as full ones, where there are full ones (unify_hybrid_kv_cache_specs)."""
    full = next((layer for layer in layers.values() if layer.kind == "full"), None)
    if full is None:
        return dict(layers)
    return {
        number: layer._replace(kind="full", window=0, in_flight_tokens=0, shards=full.shards)
        if layer.kind in ("sliding", "chunked")
        else layer
        for number, layer in layers.items()
    }


def with_one_page(layers: Mapping[int, KvLayer], release: Release) -> Mapping[int, KvLayer]:
    """The layers with equal pages: longer blocks for the smaller ones, or padding.

    Source: unify_kv_cache_spec_page_size.
    """
    largest = max(layer.page_bytes for layer in layers.values())
    if all(layer.page_bytes == largest for layer in layers.values()):
        return layers
    rule = value_at("pages_of_two_sizes", release)
    if rule == "refused":
        raise KvLayoutError(_two_sizes(layers, release))
    unified = {}
    for number, layer in layers.items():
        ratio, size = largest / layer.page_bytes, layer.block_size
        if layer.kind not in RECURRENT and ratio.is_integer():
            size *= int(ratio)
        elif layer.kind not in RECURRENT and (rule == "longer blocks" or layer.is_latent):
            raise KvLayoutError(_two_sizes(layers, release))
        unified[number] = layer._replace(page_bytes=largest, block_size=size)
    return unified


def layers_per_group(counts: Sequence[int], release: Release) -> int:
    """Layers of a group: the rarest kind's count, or the commonest's where they are close.

    Source: _get_kv_cache_groups_uniform_page_size.
    """
    least, most = min(counts), max(counts)
    return most if most < least * value_at("group_padding", release) else least


def _parts(numbers: list[int], size: int, release: Release) -> list[list[int]]:
    """The layers of one kind dealt to groups of at most `size`: in turn, or one after another."""
    if value_at("groups_are_global", release):
        count = ceil(len(numbers) / size)
        return [numbers[index::count] for index in range(count)]
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _group(layers: Mapping[int, KvLayer], numbers: list[int]) -> KvGroup:
    held = {number: layers[number] for number in numbers}
    return KvGroup(held, held[numbers[0]])


def _two_sizes(layers: Mapping[int, KvLayer], release: Release) -> str:
    sizes = sorted({layer.page_bytes / layer.block_size for layer in layers.values()})
    words = " and ".join(f"{size:g}" for size in sizes)
    return f"vLLM {release.name} has no KV layout for layers of {words} bytes a token"
