"""Units and phrases of the reports for people."""

from __future__ import annotations

from typing import Any

import built_assessments as build
import pytest

from scheduler_reader.privacy import is_secret_name, printable
from scheduler_reader.report import wording
from scheduler_reader.value import Origin


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (8.44, "8.4 ms"),
        (99.96, "100 ms"),
        (212.4, "212 ms"),
        (1240, "1.24 s"),
        (31_000, "31.0 s"),
        (123_456, "123 s"),
    ],
)
def test_durations(ms: float, text: str) -> None:
    assert wording.duration(ms) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (442528, "442,528"), (5120.4, "5,120"), (13.53, "13.5"), (0.024, "0.024")],
)
def test_counts(number: float, text: str) -> None:
    assert wording.count(number) == text


@pytest.mark.parametrize(
    ("per_s", "text"), [(0.84, "0.84"), (9.999, "10.0"), (69.96, "70.0"), (5120.4, "5,120")]
)
def test_rates(per_s: float, text: str) -> None:
    assert wording.rate(per_s) == text


def test_a_prediction_names_each_metric_with_its_unit() -> None:
    before = {"itl_p99_ms": 92.0, "output_tokens_per_s": 4100.0}
    after = {"itl_p99_ms": 31.0, "output_tokens_per_s": 4050.0, "kv_cache_tokens": 216000}
    assert wording.changes_text(before, after) == (
        "ITL p99 92.0 ms → 31.0 ms, output tokens/s 4,100 → 4,050, KV cache tokens 216,000"
    )


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"max_num_seqs": 64}, ["--max-num-seqs 64"]),
        ({"enable_prefix_caching": True}, ["--enable-prefix-caching"]),
        ({"enable_prefix_caching": False}, ["--no-enable-prefix-caching"]),
        ({"swap_space": None}, ["remove --swap-space"]),
        (
            {"speculative_config": {"method": "ngram"}},
            ["""--speculative-config '{"method": "ngram"}'"""],
        ),
        ({"tokenizer": "a b; rm -rf /"}, ["--tokenizer 'a b; rm -rf /'"]),
    ],
)
def test_a_change_is_written_as_it_is_typed(changes: dict[str, Any], options: list[str]) -> None:
    assert wording.command_options(changes) == options


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("itl_p99_ms", "ITL p99"),
        ("ttft_ms.p99", "TTFT p99"),
        ("requests_per_s", "requests/s"),
        ("output_tokens_per_s", "output tokens/s"),
        ("kv_cache_tokens", "KV cache tokens"),
        ("goodput", "goodput"),
    ],
)
def test_metric_names(name: str, text: str) -> None:
    assert wording.metric_text(name) == text


@pytest.mark.parametrize("name", ["api_key", "HF_TOKEN", "--api-key", "AWS_SECRET_ACCESS_KEY"])
def test_secrets_are_known_by_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["max_num_batched_tokens", "tokenizer", "served_model_name"])
def test_what_is_no_secret_is_shown(name: str) -> None:
    assert not is_secret_name(name)


def test_control_characters_are_taken_out() -> None:
    assert printable("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b1m\tb\x7f\u202e\ud800") == (
        "alink 1m b"
    )


def test_a_change_is_that_of_the_figure_and_never_less_than_nothing() -> None:
    assert wording.relative_change(92.0, 31.0) == "-66%"
    assert wording.relative_change(406.0, 440.0) == "+8.4%"
    assert wording.relative_change(406.0, 405.9) == "+0.0%"
    assert wording.relative_change(0.0, 5.0) == ""


def test_what_is_removed_is_said_once() -> None:
    words = build.finding(fix={"quantization": None}, fix_text="Remove quantization; it is slow.")
    assert wording.remedies(words) == ["Remove quantization; it is slow."]
    options = build.finding(fix={"nnodes": None}, fix_text="Keep one of the two places.")
    assert wording.remedies(options) == ["remove --nnodes", "Keep one of the two places."]


def test_an_origin_in_the_file_at_hand_is_a_line() -> None:
    label = Origin("file", "gke-accelerator", path="pod.yaml", line=49)
    assert wording.origin_in("pod.yaml", label) == "line 49, gke-accelerator"
    assert wording.origin_in("other.yaml", label) == "pod.yaml:49 (gke-accelerator)"
