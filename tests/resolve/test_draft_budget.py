"""What drafts take from the token budget and from the running requests."""

from __future__ import annotations

import json
import shlex

import pytest

BASE = "--max-num-batched-tokens 4096 --max-num-seqs 64"


def drafts(**config: object) -> str:
    return f"{BASE} --speculative-config {shlex.quote(json.dumps(config))}"


@pytest.mark.parametrize(
    ("version", "arguments", "tokens"),
    [
        ("0.26.0", BASE, None),
        ("0.26.0", drafts(method="ngram", num_speculative_tokens=4), 4096),
        ("0.26.0", drafts(method="draft_model", model="a/b", num_speculative_tokens=4), 4096 - 64),
        (
            "0.26.0",
            drafts(
                method="draft_model", model="a/b", num_speculative_tokens=4, parallel_drafting=True
            ),
            4096 - 4 * 64,
        ),
        (
            "0.26.0",
            drafts(method="eagle", model="a/b", num_speculative_tokens=4, parallel_drafting=True),
            4096 - 3 * 64,
        ),
        ("0.27.1", drafts(method="draft_model", model="a/b", num_speculative_tokens=4), 4096 - 64),
        ("0.28.0", drafts(method="draft_model", model="a/b", num_speculative_tokens=4), 4096),
        (
            "0.26.0",
            drafts(method="draft_model", model="a/b", num_speculative_tokens=4)
            + " --max-num-scheduled-tokens 1000",
            1000,
        ),
    ],
)
def test_tokens_that_may_be_scheduled(resolved, version, arguments, tokens):
    setting = resolved(arguments, version=version).settings["max_num_scheduled_tokens"]
    assert setting.value.value == tokens


@pytest.mark.parametrize(
    ("version", "method", "stated", "most"),
    [
        ("0.33.0", "dflash", "", 4096 // 128),  # 127 drafts and the token they follow
        ("0.33.0", "dspark", "", 4096 // 127),
        ("0.33.0", "dflash", " --max-num-active-seqs 40", 32),
        ("0.33.0", "dflash", " --max-num-active-seqs 20", 20),
        ("0.33.0", "eagle", "", None),
        ("0.32.0", "dflash", "", None),
    ],
)
def test_blocks_of_drafts_limit_the_requests_that_run(resolved, version, method, stated, most):
    arguments = drafts(method=method, model="a/b", num_speculative_tokens=127) + stated
    setting = resolved(arguments, version=version).settings["max_num_active_seqs"]
    assert setting.value.value == most
