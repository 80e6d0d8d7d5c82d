"""When an engine pools instead of generating, seen by its CUDA graphs and its prefill."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("version", "arguments", "mode"),
    [
        ("0.12.0", "--runner pooling", "PIECEWISE"),
        ("0.12.0", "--task embed", "PIECEWISE"),
        ("0.20.0", "--convert embed", "FULL_AND_PIECEWISE"),  # needs the runner as well
        ("0.22.0", "--convert embed", "PIECEWISE"),
        ("0.22.0", "--runner generate", "FULL_AND_PIECEWISE"),
    ],
)
def test_pooling(resolved, version, arguments, mode):
    assert resolved(arguments, version=version).get("cudagraph_mode") == mode


@pytest.mark.parametrize(("pooling", "chunked"), [("LAST", True), ("MEAN", False), ("CLS", False)])
def test_prefill_is_cut_where_the_last_token_is_pooled(resolved, pooling, chunked):
    arguments = f"""--runner pooling --pooler-config '{{"pooling_type": "{pooling}"}}'"""
    engine = resolved(arguments, version="0.14.0")
    assert engine.get("enable_chunked_prefill") is chunked
    assert engine.get("enable_prefix_caching") is chunked
    assert engine.get("max_num_batched_tokens") == (8192 if chunked else 65536)
