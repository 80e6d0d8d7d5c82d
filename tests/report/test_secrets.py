"""What is masked wherever it is quoted, and what is left as it stands."""

from __future__ import annotations

import pytest

from scheduler_reader.privacy import mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://bob:pw@host/x?token=abc&x=1", "https://bob:***@host/x?token=***&x=1"),
        ("redis://:pw@host", "redis://:***@host"),
        ("curl -H 'Authorization: Bearer abc'", "curl -H 'Authorization: Bearer ***'"),
        ("--api-key=abc --port=8000", "--api-key=*** --port=8000"),
        ("ghp_" + "a" * 30, "***"),
        ("eyJabcdefghij.abcdefghijk.abc", "***"),
        ("AKIAABCDEFGHIJKLMNOP", "***"),
        ("max_tokens=5 http://[::1]:8000/v1", "max_tokens=5 http://[::1]:8000/v1"),
        ("HF_TOKEN: secretKeyRef token of hf-secret", "HF_TOKEN: secretKeyRef token of hf-secret"),
    ],
)
def test_shapes(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_a_short_secret_is_masked_only_where_it_is_a_word() -> None:
    assert mask("token: 8 of 18 tokens", ("8", "token")) == "***: *** of 18 tokens"
    assert mask("xlongsecretx", ("longsecret",)) == "x***x"
