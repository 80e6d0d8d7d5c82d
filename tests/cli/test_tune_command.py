"""`sched-reader tune` as a user calls it, and its promises held against `diagnose`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

CONFIG = "# seats\nmodel: meta-llama/Llama-3.1-8B-Instruct\nmax-num-seqs: 8  # few\nmax-model-len: 8192\n"
SCRIPT = "vllm serve meta-llama/Llama-3.1-8B-Instruct \\\n  --max-model-len 8192 \\\n  --max-num-batched-tokens 256\n"
COMPOSE = (
    "services:\n  v:\n    image: vllm/vllm-openai:v0.18.0\n    command: >\n"
    "      --model Qwen/Qwen3-8B\n      --max-model-len 8192\n      --gpu-memory-utilization 0.5\n"
)
LOAD = ("--isl", "2000", "--osl", "100", "--concurrency", "48")
AT = ("--vllm-version", "0.18.0", "--gpu", "h100", "--format", "json")
GRACE_S = 60


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("serve.yaml", CONFIG, LOAD),
        ("serve.yaml", CONFIG, ()),
        ("serve.sh", SCRIPT, LOAD),
        ("compose.yaml", COMPOSE, LOAD),
        ("serve.yaml", CONFIG.replace("8  # few", "64"), (*LOAD, "--slo-itl-ms", "30")),
    ],
)
def test_the_changed_file_gets_what_was_promised(call, tmp_path, name, text, options):
    file, changed = tmp_path / name, tmp_path / f"new-{name}"
    file.write_text(text)
    code, out, err = call("tune", file, *AT, *options, "--write", changed)
    assert (code, err) == (0, "")
    found = json.loads(out)["engines"][0]
    assert found["steps"]
    code, out, _ = call("diagnose", changed, *AT, *options, "--fail-on", "never")
    assert code == 0
    performance = json.loads(out)["engines"][0]["performance"]
    promised = found["after"]["figures"]
    again = {
        "output_tokens_per_s": performance["output_tokens_per_s"],
        "goodput_requests_per_s": performance["goodput_requests_per_s"],
        "ttft_p99_ms": performance["ttft_ms"]["p99"],
        "itl_p99_ms": performance["itl_ms"]["p99"],
    }
    assert {name: promised[name] for name in again} == pytest.approx(again, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"max-num-seqs": 8}, LOAD),
        ({"max-num-seqs": 8}, ()),
        (
            {"max-num-seqs": 16, "gpu-memory-utilization": 0.45, "max-num-batched-tokens": 4096},
            LOAD,
        ),
        ({"max-num-seqs": 8}, (*LOAD, "--slo-ttft-ms", "3000")),
        ({"max-num-batched-tokens": 16384}, (*LOAD, "--slo-itl-ms", "30")),
    ],
)
def test_each_change_of_diagnose_gets_what_was_promised(call, tmp_path, settings, options):
    file = tmp_path / "serve.yaml"
    config = {"model": "meta-llama/Llama-3.1-8B-Instruct", "max-model-len": 8192, **settings}

    def diagnosed():
        file.write_text(yaml.safe_dump(config))
        code, out, _ = call("diagnose", file, *AT, *options, "--fail-on", "never")
        assert code == 0
        return json.loads(out)["engines"][0]

    steps = diagnosed()["tuning"]
    assert steps
    for step in steps:
        config |= {name.replace("_", "-"): value for name, value in step["set"].items()}
        found = diagnosed()
        performance, promised = found["performance"], step["predicted"]["after"]
        again = {
            "kv_cache_tokens": found["capacity"]["kv_cache_tokens"],
            "output_tokens_per_s": performance["output_tokens_per_s"],
            "goodput_requests_per_s": performance["goodput_requests_per_s"],
            "ttft_mean_ms": performance["ttft_ms"]["mean"],
            "ttft_p99_ms": performance["ttft_ms"]["p99"],
            "itl_mean_ms": performance["itl_ms"]["mean"],
            "itl_p99_ms": performance["itl_ms"]["p99"],
        }
        assert {name: promised[name] for name in again} == pytest.approx(again, rel=0.02)


def test_diff_prints_the_change_and_writes_nothing(call, tmp_path):
    file = tmp_path / "serve.yaml"
    file.write_text(CONFIG)
    code, out, err = call("tune", file, *AT, *LOAD, "--diff")
    assert (code, err, file.read_text()) == (0, "", CONFIG)
    assert "-max-num-seqs: 8  # few\n+max-num-seqs: 48  # few\n" in out


def test_write_in_place_keeps_comments_and_mode(call, tmp_path):
    file = tmp_path / "serve.yaml"
    file.write_text(CONFIG)
    file.chmod(0o640)
    assert call("tune", file, *AT, *LOAD, "--write", file)[0] == 0
    assert "# seats\n" in file.read_text() and "max-num-seqs: 48  # few" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_edited_is_said_with_its_arguments(call, tmp_path):
    file = tmp_path / "serve.sh"
    file.write_text("S=4\nvllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs $S\n")
    code, out, err = call("tune", file, *AT, *LOAD, "--write", tmp_path / "new.sh")
    engine = json.loads(out)["engines"][0]
    assert code == 1
    assert engine["not_written"][0]["set"] == {"max_num_seqs": 48}
    assert engine["arguments"][:2] == ["--max-num-seqs", "48"]
    assert "--max-num-seqs 48 is not in the file: its value is not plain text" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--write", "x.yaml", "--", "vllm", "serve", "m/x"), "--write and --diff need one file"),
        (("--for", "goodput", "--", "vllm", "serve", "m/x"), "--for goodput needs an SLO"),
        (("--backend", "dask", "--", "vllm", "serve", "m/x"), "--backend dask --scheduler ADDRESS"),
    ],
)
def test_wrong_usage(call, arguments, message):
    code, out, err = call("tune", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_ctrl_c_leaves_a_whole_file_to_go_on_from(call, tmp_path):
    file, points = tmp_path / "serve.yaml", tmp_path / "points.jsonl"
    file.write_text(CONFIG)
    arguments = ["tune", str(file), *AT, *LOAD, "--jobs", "1"]
    program = "import sys; from scheduler_reader.cli import main; main(sys.argv[1:])"
    run = subprocess.Popen(
        [sys.executable, "-c", program, *arguments, "--resume", str(points)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + GRACE_S
    while not (points.exists() and points.stat().st_size) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=GRACE_S)
    if run.returncode == 0:
        pytest.skip("the search was through before it could be stopped")
    assert (run.returncode, out) == (130, "")
    assert f"go on with --resume {points}" in err
    assert points.read_text().endswith("\n")
    assert call(*arguments, "--resume", points) == call(*arguments)
