"""`fragmentation --format json`: KV waste for machines."""

from __future__ import annotations

import json

from scheduler_reader.capacity.fragmentation import Fragmentation


def render(found: Fragmentation) -> str:
    """The JSON document; shares of `contiguous` are of the slots, of `blocks` of the tokens held."""
    document = {
        "schema_version": "1",
        "requests": found.requests,
        "cut_requests": found.cut_requests,
        "mean_tokens": round(found.mean_tokens, 3),
        "held_tokens": found.held_tokens,
        "contiguous": {
            "max_model_len": found.max_model_len,
            "reserved_tokens": found.reserved_tokens,
            "wasted_share": round(found.reserved_waste, 6),
        },
        "blocks": {
            "block_size": found.block_size,
            "allocated_tokens": found.block_tokens,
            "wasted_tokens_per_request": round(found.wasted_per_request, 4),
            "wasted_share": round(found.block_waste, 6),
            "expected_tokens_per_request": found.expected_per_request,
            "expected_share": round(found.expected_waste, 6),
            "four_percent_at_tokens": found.paper_waste_length,
        },
        "requests_in_the_same_memory": round(found.gain, 3),
    }
    return json.dumps(document, indent=2) + "\n"
