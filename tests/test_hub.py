"""`--hub` against a server of our own with a small model: what is fetched, kept, and told when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

COMMIT = "5f0b02c75b57c5855da9ae460ce51323ea669d8a"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
TENSORS = {
    "model.embed_tokens.weight": {"dtype": "BF16", "shape": [128256, 2048], "data_offsets": [0, 1]},
    "model.layers.0.mlp.up_proj.weight": {
        "dtype": "BF16",
        "shape": [8192, 2048],
        "data_offsets": [1, 2],
    },
}
HEADER = json.dumps(TENSORS).encode()
FILES = {
    "config.json": json.dumps(CONFIG).encode(),
    "model.safetensors": len(HEADER).to_bytes(8, "little") + HEADER,
    "README.md": b"not asked for",
}
needs_extra = pytest.mark.skipif(
    find_spec("huggingface_hub") is None, reason="the extra hub is not installed"
)


class Hub(BaseHTTPRequestHandler):
    """The three answers of the hub that count: a model's files, one file, and why not."""

    asked: list[str]

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, with_content: bool) -> None:
        path = self.path.partition("?")[0]
        type(self).asked.append(path)
        status, content, headers = self._found(path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_content:
            self.wfile.write(content)

    def _found(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        if path.startswith("/api/models/acme/small"):
            files = [{"rfilename": name} for name in FILES]
            info = {"id": "acme/small", "modelId": "acme/small", "sha": COMMIT, "siblings": files}
            return 200, json.dumps(info).encode(), {"Content-Type": "application/json"}
        if "acme/gated" in path:
            return 403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "ask for access"}
        content = FILES.get(path.removeprefix(f"/acme/small/resolve/{COMMIT}/"))
        if content is None:
            return 404, b"", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "not found"}
        return 200, content, {"ETag": '"1"', "X-Repo-Commit": COMMIT}

    def log_message(self, format: str, *arguments: Any) -> None:
        return


@pytest.fixture
def hub() -> Iterator[ThreadingHTTPServer]:
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def diagnose(
    folder: Path, server: ThreadingHTTPServer | None, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`diagnose --hub` of a command line, with a cache of its own."""
    endpoint = f"http://127.0.0.1:{server.server_address[1]}" if server else "http://127.0.0.1:9"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    served = ("vllm", "serve", *arguments)
    options = ("--hub", "--format", "json", "--fail-on", "never")
    return subprocess.run(
        [sys.executable, "-m", "scheduler_reader", "diagnose", *options, "--", *served],
        env=kept
        | {"XDG_CACHE_HOME": str(folder), "HF_HOME": str(folder / "hf"), "HF_ENDPOINT": endpoint}
        | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_extra
def test_config_and_tensor_sizes_are_fetched_once(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    run = diagnose(tmp_path, hub, "acme/small")
    assert run.returncode == 0, run.stderr
    engine = json.loads(run.stdout)["engines"][0]
    assert engine["model"]["id"] == "acme/small"
    assert engine["settings"]["max_model_len"]["value"] == 8192
    # 128,256 x 2,048 and 8,192 x 2,048 elements of two bytes, from the header alone
    assert engine["capacity"]["weights_gib"] * 1024**3 == pytest.approx(558_891_008, rel=0.01)
    assert not [path for path in Hub.asked if "README" in path]
    folder = tmp_path / "sched-reader" / "hub" / "acme" / "small" / COMMIT
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    asked = len(Hub.asked)
    again = diagnose(tmp_path, hub, "acme/small", "--revision", COMMIT)
    assert again.returncode == 0, again.stderr
    assert len(Hub.asked) == asked


@needs_extra
@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("acme/gated", "acme/gated is gated: ask for access"),
        ("acme/missing", "acme/missing is not on the hub, or private"),
    ],
)
def test_what_the_hub_does_not_show_is_told(
    hub: ThreadingHTTPServer, tmp_path: Path, model: str, says: str
) -> None:
    run = diagnose(tmp_path, hub, model)
    assert run.returncode == 3
    assert says in run.stderr
    assert len(run.stderr.splitlines()) == 1


@needs_extra
def test_a_hub_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    run = diagnose(tmp_path, None, "acme/small")
    assert run.returncode == 3
    assert "acme/small cannot be fetched: " in run.stderr
    offline = diagnose(tmp_path, None, "acme/small", HF_HUB_OFFLINE="1")
    assert offline.returncode == 3
    assert "HF_HUB_OFFLINE is set" in offline.stderr


@needs_extra
def test_a_path_is_no_model_of_the_hub(tmp_path: Path) -> None:
    run = diagnose(tmp_path, None, "/models/acme/small")
    assert run.returncode == 2
    assert "/models/acme/small is no model id of the hub" in run.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "huggingface_hub.py").write_text("raise ImportError\n")
    run = diagnose(tmp_path, None, "acme/small", PYTHONPATH=str(tmp_path))
    assert run.returncode == 2
    assert "pip install 'sched-reader[hub]'" in run.stderr
