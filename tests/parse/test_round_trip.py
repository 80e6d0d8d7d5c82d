"""Flags that are written in a deployment form are read back as they were."""

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
Writer = Callable[[list[str]], str]

JSON = st.dictionaries(
    st.text(alphabet="abc_", min_size=1, max_size=5),
    st.integers(0, 9) | st.booleans() | st.text(alphabet="ab '", max_size=5),
    min_size=1,
    max_size=3,
)


def flag_sets(alphabet: str) -> st.SearchStrategy[Flags]:
    """Sets of flags whose texts have any of the letters, quotes and blanks of `alphabet`."""
    text = st.text(alphabet=alphabet, min_size=1, max_size=14).filter(
        lambda text: text.strip() == text and not text.startswith("-") and "{{" not in text
    )
    return st.fixed_dictionaries(
        {"max_num_seqs": st.integers(1, 4096)},
        optional={
            "gpu_memory_utilization": st.sampled_from([0.5, 0.85, 0.9]),
            "enforce_eager": st.booleans(),
            "served_model_name": st.lists(text, min_size=1, max_size=3),
            "chat_template": text,
            "hf_overrides": JSON,
            "lora_modules": st.lists(st.sampled_from(["a=/l/x", "b=/l/y"]), min_size=1, max_size=2),
        },
    )


PLAIN = "abcXYZ019-_./:=,@ {}'\"%\\"


def words(flags: Flags) -> list[str]:
    """The arguments that say the flags, after the model."""
    found = ["org/model"]
    for name, value in flags.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            found.append(option if value else option.replace("--", "--no-", 1))
        elif isinstance(value, list):
            found += [option, *value]
        else:
            found += [option, json.dumps(value) if isinstance(value, dict) else str(value)]
    return found


def quoted(command: list[str]) -> str:
    return " ".join(map(shlex.quote, command))


def docker_run(arguments: list[str]) -> str:
    return f"docker run --gpus all --rm vllm/vllm-openai:v0.11.0 {quoted(arguments)}\n"


def dockerfile(arguments: list[str]) -> str:
    command = json.dumps(["vllm", "serve", *arguments])
    return f"FROM vllm/vllm-openai:v0.11.0\nENTRYPOINT []\nCMD {command}\n"


def dockerfile_shell(arguments: list[str]) -> str:
    lines = " \\\n  ".join(map(shlex.quote, ["vllm", "serve", *arguments]))
    return f"FROM vllm/vllm-openai:v0.11.0\nENTRYPOINT {lines}\n"


def service(**fields: Any) -> str:
    return yaml.safe_dump({"services": {"s": {"image": "vllm/vllm-openai:v0.11.0", **fields}}})


def compose_list(arguments: list[str]) -> str:
    return service(command=arguments)


def compose_text(arguments: list[str]) -> str:
    return service(command=quoted(arguments))


def pod(**fields: Any) -> str:
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0", **fields}
    body = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}
    return yaml.safe_dump(body, sort_keys=False)


def kubernetes_list(arguments: list[str]) -> str:
    return pod(command=["vllm", "serve"], args=arguments)


def kubernetes_script(arguments: list[str]) -> str:
    script = "set -e\n# serve\nexec vllm serve " + " \\\n  ".join(map(shlex.quote, arguments))
    return pod(command=["sh", "-c"], args=[script.replace("$", "$$")])


def leader_worker_set(arguments: list[str]) -> str:
    leader = {"spec": {"containers": [{"name": "l", "command": ["vllm", "serve", *arguments]}]}}
    template = {"size": 2, "leaderTemplate": leader}
    return yaml.safe_dump(
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "spec": {"leaderWorkerTemplate": template},
        }
    )


def serving_runtime(arguments: list[str]) -> str:
    container = {"name": "kserve-container", "command": ["vllm", "serve"], "args": arguments}
    return yaml.safe_dump(
        {
            "apiVersion": "serving.kserve.io/v1alpha1",
            "kind": "ServingRuntime",
            "spec": {"containers": [container]},
        }
    )


def llm_inference_service(arguments: list[str]) -> str:
    main = {"name": "main", "command": ["vllm", "serve"], "args": arguments}
    return yaml.safe_dump(
        {
            "apiVersion": "serving.kserve.io/v1alpha1",
            "kind": "LLMInferenceService",
            "spec": {"template": {"containers": [main]}},
        }
    )


def script(arguments: list[str]) -> str:
    return "#!/bin/bash\nset -e\nexec vllm serve " + " \\\n  ".join(map(shlex.quote, arguments))


def vllm_runtime(arguments: list[str]) -> str:
    spec = {"model": {"modelURL": arguments[0]}, "vllmConfig": {"extraArgs": arguments[1:]}}
    return yaml.safe_dump(
        {
            "apiVersion": "production-stack.vllm.ai/v1alpha1",
            "kind": "VLLMRuntime",
            "metadata": {"name": "r"},
            "spec": spec,
        }
    )


def own_chart(arguments: list[str]) -> str:
    image = {"repository": "vllm/vllm-openai", "tag": "v0.11.0"}
    return yaml.safe_dump({"llm": {"image": image, "args": ["--model", *arguments]}})


def unit_words(words: list[str]) -> str:
    def escaped(word: str) -> str:
        for character, instead in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
            word = word.replace(character, instead)
        return f'"{word}"'

    return " \\\n ".join(map(escaped, words))


def systemd(arguments: list[str]) -> str:
    return "[Service]\nExecStart=/usr/bin/vllm serve " + unit_words(arguments)


def quadlet(arguments: list[str]) -> str:
    image = "docker.io/vllm/vllm-openai:v0.11.0"
    return f"[Container]\nImage={image}\nExec={unit_words(arguments)}\n"


WRITERS: dict[str, tuple[str, Writer]] = {
    "docker-run": ("run.sh", docker_run),
    "dockerfile": ("Dockerfile", dockerfile),
    "dockerfile shell form": ("Dockerfile", dockerfile_shell),
    "compose list": ("compose.yaml", compose_list),
    "compose text": ("compose.yaml", compose_text),
    "kubernetes list": ("pod.yaml", kubernetes_list),
    "kubernetes script": ("pod.yaml", kubernetes_script),
    "lws": ("lws.yaml", leader_worker_set),
    "kserve": ("runtime.yaml", serving_runtime),
    "kserve llm": ("llm.yaml", llm_inference_service),
    "own chart": ("values.yaml", own_chart),
    "quadlet": ("vllm.container", quadlet),
    "shell": ("serve.sh", script),
    "systemd": ("vllm.service", systemd),
    "vllm-runtime": ("runtime.yaml", vllm_runtime),
}
# Where no shell runs, `$X` reaches vLLM as it stands; it is reported, not read.
KEEPS_DOLLARS = {
    *("dockerfile", "compose list", "compose text", "kubernetes list", "lws", "kserve"),
    *("kserve llm", "own chart", "vllm-runtime"),
}


@pytest.mark.parametrize("form", WRITERS)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_flags_come_back(form: str, data: st.DataObject) -> None:
    flags = data.draw(flag_sets(PLAIN if form in KEEPS_DOLLARS else PLAIN + "$"))
    path, write = WRITERS[form]
    (file,) = to_json([parse_text(write(words(flags)), path)])["files"]
    (engine,) = file["engines"]
    assert file["problems"] == []
    assert engine["model"] == "org/model"
    assert engine["flags"] == flags
