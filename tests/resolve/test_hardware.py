"""Which GPU: the option's, the one a deployment file asks for, else an assumption that is said."""

from __future__ import annotations

import pytest

from scheduler_reader.parse import parse_text
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import Hardware

POD = """apiVersion: v1
kind: Pod
spec:
  nodeSelector: {LABEL}
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.11.0
      args: [--model, Qwen/Qwen3-8B]
"""


def hardware(label: str, gpu: str | None = None) -> tuple[Hardware, list[str]]:
    (engine,) = parse_text(POD.replace("LABEL", label), "pod.yaml").engines
    resolved = resolve(engine, ResolveOptions(None, gpu, None))
    return resolved.hardware, [text for text in resolved.assumptions if "--gpu" in text]


@pytest.mark.parametrize(
    ("label", "gpu"),
    [
        ("cloud.google.com/gke-accelerator: nvidia-l4", "l4"),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB", "a100-sxm-80gb"),
    ],
)
def test_node_label_states_the_gpu(label: str, gpu: str) -> None:
    found, assumed = hardware(label)
    assert found.gpu.name == gpu
    assert found.origin.place.startswith("pod.yaml:4")
    assert assumed == []


def test_option_wins_over_the_label() -> None:
    found, _ = hardware("cloud.google.com/gke-accelerator: nvidia-l4", "h200")
    assert found.gpu.name == "h200"


def test_label_that_names_no_known_gpu_leaves_the_assumption() -> None:
    found, assumed = hardware("node.kubernetes.io/instance-type: g5.8xlarge")
    assert found.gpu.name == "h100-sxm"
    assert len(assumed) == 1
    assert "g5.8xlarge (pod.yaml:4) is no GPU known here" in assumed[0]


REQUEST = "resources: {limits: {nvidia.com/gpu: 4}}\n      args: [--model, Qwen/Qwen3-8B]"


def test_a_pod_states_the_number_of_gpus() -> None:
    text = POD.replace("args: [--model, Qwen/Qwen3-8B]", REQUEST).replace("LABEL", "a: b")
    (engine,) = parse_text(text, "pod.yaml").engines
    found = resolve(engine, ResolveOptions()).hardware
    assert (found.count, found.count_is_stated) == (4, True)
    assert resolve(engine, ResolveOptions(gpu_count=2)).hardware.count == 2


def test_a_group_of_nodes_does_not() -> None:
    leader = "{containers: [{image: vllm/vllm-openai:v0.11.0, args: [--model=m, -tp=8], "
    limits = "resources: {limits: {nvidia.com/gpu: 4}}}]}"
    text = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nspec:\n"
        f"  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate: {{spec: {leader}{limits}}}\n"
    )
    (engine,) = parse_text(text, "lws.yaml").engines
    found = resolve(engine, ResolveOptions()).hardware
    assert (found.count, found.count_is_stated) == (8, False)
