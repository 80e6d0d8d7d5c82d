"""State of mamba and linear-attention layers, which shares one block pool with attention.

A layer keeps one state of fixed size for a request.  So that all pages are equal, the attention
block is made long enough for its page to hold a state, and the state's page is padded to it.
Source: vllm/model_executor/models/config.py, HybridAttentionMambaModelConfig (0.10.0), and
platforms/interface.py, _align_hybrid_block_size (0.20.0).
"""

from __future__ import annotations

from math import ceil

from scheduler_reader.capacity.constants import table, value_at
from scheduler_reader.capacity.inputs import DTYPE_BYTES, CapacityInputs
from scheduler_reader.capacity.modules import fact


def aligned_block_size(inputs: CapacityInputs, bytes_per_token: float) -> int:
    """Tokens of an attention block whose page holds a state; `bytes_per_token` of one layer."""
    multiple = int(table()["hybrid_block_multiple"])
    tokens = ceil(state_bytes(inputs) / (multiple * bytes_per_token)) * multiple
    return max(inputs.block_size, tokens)


def state_bytes(inputs: CapacityInputs) -> float:
    """Bytes of one layer's convolution and recurrent state on one tensor-parallel rank.

    Source: vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator.
    """
    model, ranks = inputs.model, inputs.tensor_parallel
    if "linear" in model.layer_kinds:
        head = fact(model, "linear_key_head_dim")
        values = fact(model, "linear_value_heads") * fact(model, "linear_value_head_dim")
        channels = 2 * fact(model, "linear_key_heads") * head + values
        kernel, recurrent = fact(model, "linear_conv_kernel"), values * head
    else:
        state = fact(model, "ssm_state_size")
        inner = fact(model, "mamba_heads") * fact(model, "mamba_head_dim")
        channels = inner + 2 * max(fact(model, "mamba_groups"), ranks) * state
        kernel, recurrent = fact(model, "mamba_conv_kernel"), inner * state
    convolution = (kernel - 1 + inputs.draft_tokens) * channels / ranks * inputs.dtype_bytes
    return float(convolution + recurrent / ranks * DTYPE_BYTES[inputs.state_dtype])


def state_blocks(inputs: CapacityInputs) -> int:
    """Blocks of one request in a group of recurrent layers; 0: as many as attention needs.

    One state through 0.11.0.  To 0.14.1 a state for every block, which without prefix caching is
    as long as the request.  From 0.15.0 one and one a draft token, another one where states are
    cached at block ends, or a state for every block where the model can start from any of them.
    """
    rule = value_at("state_blocks", inputs.release)
    if rule == "one" or not inputs.caches_prefixes:
        return 1 + (inputs.draft_tokens if rule == "by_mode" else 0)
    if rule == "by_block":
        return 0
    caches_all = value_at("state_cached_at_every_block", inputs.release)
    if caches_all and "mamba" in inputs.model.layer_kinds:
        return 0
    return 2 + inputs.draft_tokens
