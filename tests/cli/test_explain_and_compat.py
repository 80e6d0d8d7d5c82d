"""`explain` and `compat` as they are typed."""

from __future__ import annotations

import json

import pytest

from scheduler_reader.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


def test_a_flag_may_be_written_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "--swap-space", "--format", "json")
    assert code == 0
    assert json.loads(out)["explanations"][0]["flag"] == "--swap-space"


def test_an_unknown_word_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "chunked-prefil")
    assert (code, out) == (2, "")
    assert "did you mean chunked prefill" in err


@pytest.mark.parametrize(
    ("features", "code"),
    [("chunked-prefill,spec-decode,lora", 0), ("prompt-embeds,spec-decode", 1), ("lorra,mla", 2)],
)
def test_features_that_exclude_each_other_end_in_one(
    capsys: pytest.CaptureFixture[str], features: str, code: int
) -> None:
    found, _, _ = run(capsys, "compat", "--with", features, "--vllm-version", "0.18.0")
    assert found == code


def test_a_quoted_figure_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "kv-8192")
    assert code == 0
    assert (
        out
        == """\
kv-8192  quoted: at most 1.25 GiB
  The KV cache of 8,192 tokens takes about 1.25 GB in BF16

Holds with 1 GPU with FP8 KV, 2 GPUs, 4 GPUs and 8 GPUs; does not hold with 1
  GPU.
  1 GPU              2.50 GiB  no   320 KiB a token on each GPU
  1 GPU with FP8 KV  1.25 GiB  yes  160 KiB a token on each GPU
  2 GPUs             1.25 GiB  yes  160 KiB a token on each GPU
  4 GPUs             0.62 GiB  yes  80 KiB a token on each GPU
  8 GPUs             0.31 GiB  yes  40 KiB a token on each GPU

  2 (keys and values) x 80 layers x 8 KV heads x 128 x 2 bytes = 320 KiB a
  token; the figure is that of FP8, or of one of two GPUs.
  source  config.json of Llama 3.3 70B: 80 layers, 8 KV heads of 128

Computed for
  engine  vllm serve nvidia/Llama-3.3-70B-Instruct-FP8 --max-model-len 512
          --kv-cache-dtype bfloat16 (vLLM 0.18.0, h100-sxm), with -tp 1 | -tp 1
          --kv-cache-dtype fp8 | -tp 2 | -tp 4 | -tp 8
"""
    )


def test_every_claim_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "claims", "--format", "json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)["claims"]][:2] == [
        "tokens-per-second",
        "tokens-per-second-short",
    ]
