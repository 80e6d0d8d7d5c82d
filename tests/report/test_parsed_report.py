"""What `parse` shows for people."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from scheduler_reader.report.terminal import parsed

REPORT = {
    "files": [
        {
            "path": "compose.yaml",
            "form": "compose",
            "problems": [],
            "engines": [
                {
                    "name": "chat",
                    "model": "Qwen/Qwen3-8B",
                    "flags": {
                        "max_model_len": 16384,
                        "enable_prefix_caching": False,
                        "tensor_parallel_size": None,
                        "api_key": ["topsecret"],
                        "served_model_name": ["a", "b"],
                    },
                    "env": {"VLLM_USE_V1": "1", "VLLM_API_KEY": "topsecret"},
                    "image_version": "0.18.0",
                    "unresolved": {
                        "tensor_parallel_size": "$TP is not set in the file",
                        "*extra_args": "$EXTRA is not set in the file",
                    },
                    "location": {"path": "compose.yaml", "line": 4, "column": 5},
                }
            ],
        },
        {
            "path": "notes.txt",
            "form": None,
            "problems": [{"message": "no vLLM engine was found", "line": None}],
            "engines": [],
        },
    ]
}


def test_files_engines_and_what_is_not_resolved() -> None:
    target = StringIO()
    parsed.render(REPORT, Console(file=target, width=80))
    assert target.getvalue() == (
        "compose.yaml  compose, 1 engine\n"
        "  Qwen/Qwen3-8B  chat  image of vLLM 0.18.0\n"
        "    max_model_len          16,384\n"
        "    enable_prefix_caching  off\n"
        "    tensor_parallel_size   not resolved: $TP is not set in the file\n"
        "    api_key                ***\n"
        '    served_model_name      ["a", "b"]\n'
        "    VLLM_USE_V1            1\n"
        "    VLLM_API_KEY           ***\n"
        "    *extra_args            not resolved: $EXTRA is not set in the file\n"
        "\n"
        "notes.txt  form not recognised, 0 engines\n"
        "  problem  no vLLM engine was found\n"
    )
