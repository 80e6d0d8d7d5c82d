"""`sched-reader budgets` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TARGET = ("--vllm-version", "0.18.0", "--gpu", "h100", "--isl", "2000", "--osl", "50")


def test_budgets_of_a_file_for_machines(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct\nmax-num-seqs: 64\n")
    options = ("--concurrency", "8", "--slo-itl-ms", "40", "--format", "json")
    code, out, err = call("budgets", file, *TARGET, *options)
    assert (code, err) == (0, "")
    (engine,) = json.loads(out)["engines"]
    assert engine["block_size"] == 16
    assert engine["right"] in [one["max_num_batched_tokens"] for one in engine["budgets"]]
    assert [one["is_current"] for one in engine["budgets"]].count(True) == 1


def test_without_an_objective_none_is_called_right(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: meta-llama/Llama-3.1-8B-Instruct\n")
    code, out, _ = call("budgets", file, *TARGET, "--concurrency", "8")
    assert code == 0
    assert "give --slo-itl-ms" in " ".join(out.split())
    assert "Budgets below max_num_seqs (1,024) are refused by vLLM" in " ".join(out.split())


def test_an_unknown_model_ends_in_one(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("model: nobody/knows-this\n")
    code, out, err = call("budgets", file, *TARGET)
    assert (code, out) == (1, "")
    assert "no budgets to compare" in err
