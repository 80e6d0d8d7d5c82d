"""The memory peak of the profile run that sizes the KV cache.

At start-up the worker runs one dummy step of `max_num_batched_tokens` tokens, then the sampler on
`max_num_seqs` rows of logits.  The peak is the larger of the two: a decoder layer's live tensors
for all tokens, or the sampler's temporaries beside the kept hidden states.  Source:
vllm/v1/worker/gpu_model_runner.py, profile_run and _dummy_sampler_run.
"""

from __future__ import annotations

from scheduler_reader.capacity.constants import ZERO, Spread, at, spread, table, value_at
from scheduler_reader.capacity.encoder import with_encoder
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.modules import experts_per_rank, heads_per_rank
from scheduler_reader.capacity.stages import Stage


def profile_peak(inputs: CapacityInputs, stage: Stage) -> Spread:
    """Bytes that the profile run needs above the weights on one rank of a stage."""
    layer = spread(table()["layer_activation"]).scaled(
        inputs.token_budget * layer_bytes_per_token(inputs)
    )
    sampler = sampler_peak(inputs) if stage.is_last and not inputs.model.is_pooling else ZERO
    peak = Spread.largest(layer, sampler)
    return with_encoder(inputs, peak) if stage.is_first and inputs.encoder_runs else peak


def layer_bytes_per_token(inputs: CapacityInputs) -> float:
    """Bytes alive at the peak of a decoder layer, for each token of the budget.

    Residual, input and output (hidden size each) beside the gate-up product and its activation
    (twice and once the intermediate size), or beside query, keys, values and attention output.
    """
    model, ranks = inputs.model, inputs.tensor_parallel
    dense = 3 * (model.intermediate_size or 0) / ranks
    if model.is_moe:
        shared = 3 * (model.shared_expert_intermediate_size or 0) / ranks
        dense = max(_routed_elements(inputs) + shared, dense if model.dense_layers else 0)
    heads = heads_per_rank(model.attention_heads, ranks)
    attention = 2 * (heads + heads_per_rank(model.kv_heads, ranks)) * model.head_dim
    return (3 * model.hidden_size + max(dense, attention)) * inputs.dtype_bytes


def _routed_elements(inputs: CapacityInputs) -> float:
    """Elements that routed experts hold for each token of the budget: a copy for each expert chosen.

    Where data-parallel ranks gather their tokens, all of them and their results are held beside it
    (vllm/model_executor/layers/fused_moe/fused_moe.py, fused_experts_impl).
    """
    model, ranks = inputs.model, inputs.gathered_ranks
    _, width = experts_per_rank(inputs)
    copies = model.experts_per_token * (max(2 * width, model.hidden_size) + width)
    chunk = value_at("expert_chunk", inputs.release)
    copied = min(ranks, chunk / inputs.token_budget) if chunk else ranks
    gathered = 2 * model.hidden_size * ranks if ranks > 1 else 0
    return copied * copies + gathered


def sampler_peak(inputs: CapacityInputs) -> Spread:
    """Bytes alive while the profile run samples one token for every sequence."""
    rows = min(inputs.max_num_seqs, inputs.token_budget)
    kept = table()["hidden_states_kept"] * inputs.model.hidden_size * inputs.dtype_bytes
    logits = _bytes_per_logit(inputs, rows)
    if inputs.draft_method and not (inputs.is_v0 or inputs.uses_second_runner):
        drafts = spread(value_at("sampler_with_drafts", inputs.release))
        logits = Spread.largest(logits, drafts)
    logits = logits.scaled(rows * inputs.model.vocab_size)
    return logits + Spread.exact(inputs.token_budget * kept)


def _bytes_per_logit(inputs: CapacityInputs, rows: int) -> Spread:
    entry = at("sampler", inputs.release)
    if inputs.uses_second_runner:
        return spread(table()["sampler_second_runner_bytes"])
    if inputs.uses_flashinfer_sampler and not inputs.is_v0:
        return spread(table()["sampler_flashinfer_bytes"])
    if inputs.is_v0:
        entry = table()["sampler"][0]
    elif inputs.runs_image and "container_bytes" in entry:
        return spread(entry["container_bytes"])
    return spread(entry["few_rows_bytes" if rows <= entry["few_rows"] else "bytes"])
