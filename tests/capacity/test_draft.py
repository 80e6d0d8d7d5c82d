"""What drafts: the layers it adds, its matrices, and a model of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B, LLAMA_70B

from scheduler_reader.capacity.draft import draft_layers, draft_matrices, of_draft_model
from scheduler_reader.capacity.modules import Matrix, layer_matrices


@pytest.mark.parametrize(
    ("method", "heads"),
    [
        ("mtp", []),
        ("eagle", []),
        ("eagle3", [Matrix("draft.lm_head", 32000 / 2, 4096, plain=True)]),
    ],
)
def test_a_draft_layer_is_the_models_last_with_a_way_into_it(
    method: str, heads: list[Matrix]
) -> None:
    """Three hidden states side by side into one; only EAGLE-3 has a small vocabulary of its own."""
    sizes = {"intermediate_sizes": [1024] * 31 + [2048]}
    model = replace(LLAMA_8B, extra=sizes)
    inputs = inputs_of(model, draft_method=method, tensor_parallel=2)
    into = Matrix("draft.fc", 4096, 3 * 4096, plain=True)
    last = list(layer_matrices(inputs, 31, "full"))
    assert [matrix.inputs for matrix in last if "down" in matrix.module] == [2048 / 2]
    assert list(draft_matrices(inputs)) == [*last, into, *heads]


def test_counted_words_draft_without_a_layer() -> None:
    inputs = inputs_of(LLAMA_8B, draft_method="ngram")
    assert (draft_layers(inputs), list(draft_matrices(inputs))) == (0, [])


def test_a_draft_model_stands_alone_on_the_ranks_of_the_last_stage() -> None:
    """No stages, adapters, offloading, encoder or draft of its own."""
    drafting = inputs_of(
        LLAMA_70B,
        draft_method="draft_model",
        draft_model=LLAMA_8B,
        tensor_parallel=2,
        pipeline_parallel=2,
        lora_rows=64,
        offload_bytes=1e9,
    )
    alone = inputs_of(LLAMA_8B, tensor_parallel=2, loads_encoder=False)
    assert of_draft_model(drafting) == alone
    assert of_draft_model(alone) is None
