"""Which layers one pipeline stage holds."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.knowledge.models import LayerKind, ModelFacts
from scheduler_reader.record import Record

PARTITION = "VLLM_PP_LAYER_PARTITION"


class Stage(Record):
    """The decoder layers `first` to `last` (excluded); the ends hold embeddings and lm_head."""

    first: int
    last: int
    is_first: bool
    is_last: bool

    @property
    def layers(self) -> int:
        return self.last - self.first

    def kinds(self, model: ModelFacts) -> tuple[LayerKind, ...]:
        """The kind of each of its layers."""
        every: LayerKind = "full"
        kinds = model.layer_kinds or (every,) * model.layers
        return kinds[self.first : self.last]


def partition(written: str) -> tuple[int, ...]:
    """The layers of each stage that the variable deals out; empty: none, or no numbers."""
    sizes = [size.strip() for size in written.split(",")]
    return tuple(map(int, sizes)) if all(size.isdigit() for size in sizes) else ()


def stages(layers: int, count: int, by_hand: Sequence[int] = ()) -> tuple[Stage, ...]:
    """Layers spread over pipeline stages, evenly or as they are dealt out `by_hand`.

    Of an even spread what is left over goes to the stages before the last.
    Source: vllm/distributed/utils.py, get_pp_indices.
    """
    sizes = list(by_hand) or [layers // count] * count
    for index in range(0 if by_hand else layers % count):
        sizes[-2 - index] += 1
    cuts = [sum(sizes[:index]) for index in range(count + 1)]
    return tuple(
        Stage(cuts[i], cuts[i + 1], is_first=i == 0, is_last=i == count - 1) for i in range(count)
    )
