"""Files that look like a form and are none: a wrong guess costs more than a question."""

from __future__ import annotations

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_text

NO_CONFIGURATION = {
    "request.json": '{"model": "a/b", "prompt": "hi"}',
    "chat.json": '{"model": "a/b", "messages": [], "stream": true}',
    "parameters.json": '[{"parameters": {"seed": 1}}, {"parameters": {"seed": 2}}]',
    "training.yaml": "resources: {accelerators: H100:8}\nrun: |\n  torchrun train.py\n",
    "catalog.yaml": "catalog:\n  shoes: {price: 5}\n",
    "vars.tf": 'variable "name" { default = "vllm" }\n',
    "other-server.yaml": (
        "docker_server: {start_command: text-embeddings-router --model-id a/b}\n"
        "base_image: {image: ghcr.io/huggingface/text-embeddings-inference:1.5}\n"
    ),
    "prose.yaml": "description: start it with vllm serve and a model\nvllm: great\n",
    "autoscaler.yaml": (
        "apiVersion: autoscaling.aibrix.ai/v1alpha1\nkind: PodAutoscaler\n"
        "spec: {metricsSources: [{targetMetric: vllm_cache}]}\n"
    ),
}


@pytest.mark.parametrize("path", NO_CONFIGURATION)
def test_is_no_configuration(path: str) -> None:
    with pytest.raises(InputError):
        parse_text(NO_CONFIGURATION[path], path)


@pytest.mark.parametrize(
    ("path", "text", "form"),
    [
        ("model.json", '{"model": "a/b"}', "triton"),
        ("x.yaml", "backend: vllm\nparameters: {model: m}\ndtype: half\nseed: 1\n", "localai"),
        ("x.yaml", "model: a/b\nmax-model-len: 4096\n", "config-yaml"),
        (
            "x.yaml",
            "services:\n  a:\n    image: vllm/vllm-openai:v0.11.0\n    command: m\n",
            "compose",
        ),
        ("x.yaml", "model_name: a/b\nserver_args: --seed 1\n", "bench"),
    ],
)
def test_each_form_keeps_its_own(path: str, text: str, form: str) -> None:
    assert parse_text(text, path).form == form
