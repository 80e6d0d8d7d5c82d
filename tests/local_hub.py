"""A Hugging Face hub on this machine, with one small model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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


@contextmanager
def local_hub() -> Iterator[str]:
    """The address of a hub; `Hub.asked` are the paths that were asked for."""
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
