"""A set of flags, written as each form writes it, parses back to itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.parse import parse_text, to_json

Flags = dict[str, Any]

FLAGS = st.fixed_dictionaries(
    {"max_model_len": st.integers(1, 1_000_000)},
    optional={
        "max_num_seqs": st.integers(1, 4096),
        "max_num_batched_tokens": st.integers(1, 65536),
        "gpu_memory_utilization": st.integers(1, 99).map(lambda percent: percent / 100),
        "tensor_parallel_size": st.sampled_from([1, 2, 4, 8]),
        "enable_prefix_caching": st.booleans(),
        "enable_chunked_prefill": st.booleans(),
        "enforce_eager": st.booleans(),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8", "fp8_e4m3"]),
        "tokenizer": st.text("abcXYZ09-_./: #'", min_size=1, max_size=12).filter(
            lambda text: not text.startswith("-") and text.strip() == text
        ),
        "limit_mm_per_prompt": st.fixed_dictionaries({"image": st.integers(0, 9)}),
        "speculative_config": st.fixed_dictionaries(
            {"method": st.just("ngram"), "num_speculative_tokens": st.integers(1, 9)}
        ),
    },
)


def options(flags: Flags) -> list[str]:
    """The flags as the words of a command line."""
    words: list[str] = []
    for name, value in flags.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return words


def documents(*found: Any) -> str:
    return yaml.safe_dump_all(found, sort_keys=False)


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def printed(value: Any) -> Any:
    """A value as people write it where a tool prints it: JSON as text."""
    return json.dumps(value) if isinstance(value, dict) else value


def kubernetes(group: str, kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def stack(config: Flags) -> str:
    model = {"name": "m", "repository": "vllm/vllm-openai", "tag": "v0.11.0", "modelURL": "a/b"}
    return documents({"servingEngineSpec": {"modelSpec": [{**model, "vllmConfig": config}]}})


def modelservice(flags: Flags) -> str:
    container = {"image": "x:1", "modelCommand": "vllmServe", "args": options(flags)}
    artifacts = {"name": "a/b", "uri": "hf://a/b"}
    return documents({"modelArtifacts": artifacts, "decode": {"containers": [container]}})


def kubeai(flags: Flags) -> str:
    spec = {"url": "hf://a/b", "engine": "VLLM", "args": options(flags)}
    return documents(kubernetes("kubeai.org/v1", "Model", spec))


def ray_service(flags: Flags) -> str:
    config = {"model_loading_config": {"model_id": "a/b"}, "engine_kwargs": flags}
    application = {"applications": [{"args": {"llm_configs": [config]}}]}
    block = yaml.safe_dump(application, sort_keys=False).replace("\n", "\n    ")
    return f"apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n    {block}\n"


def skypilot(flags: Flags) -> str:
    return documents({"envs": {"M": "a/b"}, "run": f"vllm serve $M {shlex.join(options(flags))}\n"})


def dstack(flags: Flags) -> str:
    command = f"vllm serve $M {shlex.join(options(flags))}"
    return documents({"type": "service", "env": ["M=a/b"], "commands": ["cd /x", command]})


def kthena(flags: Flags) -> str:
    config = {
        name if value is not False else f"no-{name}": "" if isinstance(value, bool) else value
        for name, value in flags.items()
    }
    config = {
        name.replace("_", "-"): json.dumps(value) if isinstance(value, dict) else value
        for name, value in config.items()
    }
    workers = [{"type": "server", "config": config}]
    backend = {"type": "vLLM", "modelURI": "hf://a/b", "workers": workers}
    return documents(
        kubernetes("workload.serving.volcano.sh/v1alpha1", "ModelBooster", {"backend": backend})
    )


def truss(flags: Flags) -> str:
    command = shlex.join(["sh", "-c", f"vllm serve a/b {shlex.join(options(flags))}"])
    return documents({"docker_server": {"start_command": command}})


def localai(flags: Flags) -> str:
    parameters = {"model": "a/b"}
    return documents({"backend": "vllm", "parameters": parameters, "engine_args": flags})


def kaito(flags: Flags) -> str:
    arguments = {name.replace("_", "-"): printed(value) for name, value in flags.items()}
    config = yaml.safe_dump({"vllm": arguments}, sort_keys=False)
    return documents({"kind": "ConfigMap", "data": {"inference_config.yaml": config}})


def aibrix(flags: Flags) -> str:
    command = ["sh", "-c", f"exec vllm serve a/b {shlex.join(options(flags))}"]
    container = {"name": "e", "image": "vllm/vllm-openai:v0.11.0", "command": command}
    role = {"name": "r", "template": {"spec": {"containers": [container]}}}
    spec = {"template": {"spec": {"roles": [role]}}}
    return documents(kubernetes("orchestration.aibrix.ai/v1alpha1", "StormService", spec))


def dynamo(flags: Flags) -> str:
    words = ["python3", "-m", "dynamo.vllm", "--model", "a/b", *options(flags)]
    container = {"image": "vllm-runtime:1", "command": words[:3], "args": words[3:]}
    services = {"w": {"componentType": "worker", "extraPodSpec": {"mainContainer": container}}}
    spec = {"services": services}
    return documents(kubernetes("nvidia.com/v1alpha1", "DynamoGraphDeployment", spec))


def llmaz(flags: Flags) -> str:
    command = ["vllm", "serve", "a/b"]
    spec = {"command": command, "recommendedConfigs": [{"name": "c", "args": options(flags)}]}
    return documents(kubernetes("inference.llmaz.io/v1alpha1", "BackendRuntime", spec))


def vec_inf(flags: Flags) -> str:
    arguments = {f"--{name.replace('_', '-')}": printed(flags[name]) for name in flags}
    return documents({"models": {"m": {"vllm_args": arguments}}})


def evaluation(flags: Flags) -> str:
    return documents({"model_name": "a/b", "server_args": shlex.join(options(flags))})


def serving_tests(flags: Flags) -> str:
    parameters = {
        (f"no_{name}" if value is False else name): ("" if isinstance(value, bool) else value)
        for name, value in flags.items()
    }
    server = {"model": "a/b", **parameters}
    return json.dumps([{"test_name": "t", "server_parameters": server}], indent=1)


def roles(flags: Flags) -> str:
    config = {name.replace("_", "-"): printed(value) for name, value in flags.items()}
    recipe = {"model": {"path": "x"}, "backend": {"vllm_config": {"agg": config}}}
    return documents(recipe)


def recipe(flags: Flags) -> str:
    model = {"model_id": "a/b", "base_args": options(flags)}
    return documents({"meta": {"title": "Example"}, "features": {}, "model": model})


def terraform(flags: Flags) -> str:
    arguments = ",\n      ".join(json.dumps(word) for word in options(flags))
    return (
        'resource "kubernetes_deployment" "m" {\n  spec {\n    container {\n'
        '      image = "vllm/vllm-openai:v0.11.0"\n      command = ["vllm", "serve", "a/b"]\n'
        f"      args = [\n      {arguments}\n      ]\n    }}\n  }}\n}}\n"
    )


def config_file(flags: Flags) -> str:
    entries = {name.replace("_", "-"): printed(value) for name, value in flags.items()}
    return documents({"model": "a/b", **entries})


FORMS: dict[str, tuple[str, Callable[[Flags], str]]] = {
    "config-yaml": ("c.yaml", config_file),
    "production-stack extraArgs": ("v.yaml", lambda flags: stack({"extraArgs": options(flags)})),
    "production-stack vllmConfig": (
        "v.yaml",
        lambda flags: stack({camel(name): printed(value) for name, value in flags.items()}),
    ),
    "modelservice": ("v.yaml", modelservice),
    "kubeai": ("m.yaml", kubeai),
    "ray": ("r.yaml", ray_service),
    "skypilot": ("s.yaml", skypilot),
    "dstack": ("s.dstack.yml", dstack),
    "kthena": ("m.yaml", kthena),
    "truss": ("config.yaml", truss),
    "triton": ("model.json", lambda flags: json.dumps({"model": "a/b", **flags})),
    "localai": ("m.yaml", localai),
    "kaito": ("k.yaml", kaito),
    "aibrix": ("a.yaml", aibrix),
    "dynamo": ("d.yaml", dynamo),
    "llmaz": ("l.yaml", llmaz),
    "vec-inf": ("models.yaml", vec_inf),
    "evaluation": ("e.yaml", evaluation),
    "serving tests": ("tests.json", serving_tests),
    "slurm recipe": ("r.yaml", roles),
    "vLLM recipe": ("r.yaml", recipe),
    "terraform": ("main.tf", terraform),
}


@pytest.mark.parametrize("form", FORMS)
@given(flags=FLAGS)
@settings(max_examples=6, deadline=None)
def test_flags_come_back_as_they_were(form: str, flags: Flags) -> None:
    path, write = FORMS[form]
    (found,) = to_json([parse_text(write(flags), path)])["files"]
    (engine,) = found["engines"]
    assert engine["flags"] == flags
