"""The draft layers of speculative decoding: their weights and their KV cache."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.capacity.constants import table
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.modules import Matrix, layer_matrices


def draft_layers(inputs: CapacityInputs) -> int:
    """Attention layers like the model's own that the draft adds to the last pipeline stage.

    Raises `MissingFactError` for methods whose draft is not known.
    """
    method = inputs.draft_method
    if method is None or inputs.draft_model is not None:
        return 0
    known = table()["draft_layers"]
    if method not in known:
        raise MissingFactError(f"the memory of the draft of speculative method {method}")
    return int(known[method])


def of_draft_model(inputs: CapacityInputs) -> CapacityInputs | None:
    """The inputs of a draft that is a model of its own, on the ranks of the last stage.

    Source: vllm/config/speculative.py, draft_tensor_parallel_size is the target's by default.
    """
    if inputs.draft_model is None:
        return None
    return inputs.changed(
        model=inputs.draft_model,
        quantization=inputs.draft_model.quantization,
        pipeline_parallel=1,
        layers_by_stage=(),
        draft_method=None,
        draft_model=None,
        lora_rows=0,
        offload_bytes=0.0,
        loads_encoder=False,
    )


def draft_matrices(inputs: CapacityInputs) -> Iterator[Matrix]:
    """One layer like the model's last, the projection into it, and EAGLE's own small lm_head.

    Source: vllm/model_executor/models/deepseek_mtp.py and llama_eagle3.py.
    """
    if not draft_layers(inputs):
        return
    model = inputs.model
    yield from layer_matrices(inputs, model.layers - 1, "full")
    yield Matrix("draft.fc", model.hidden_size, 3 * model.hidden_size, plain=True)
    if inputs.draft_method == "eagle3":
        rows = table()["eagle3_vocabulary"] / inputs.tensor_parallel
        yield Matrix("draft.lm_head", rows, model.hidden_size, plain=True)
