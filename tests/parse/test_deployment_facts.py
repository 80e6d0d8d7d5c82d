"""What deployment files say about an engine's surroundings, hand-worked from small files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_reader.parse import parse_file, parse_text
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.value import Known, Unknown

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
GIB = 1024**3


def deployment(text: str, path: str) -> Deployment:
    (engine,) = parse_text(text, path).engines
    assert engine.deployment is not None
    return engine.deployment


def known(value: object) -> object:
    assert isinstance(value, Known)
    return value.value


def test_pod_with_limits_probes_and_shared_memory() -> None:
    (engine,) = parse_file(str(INPUTS / "kubernetes" / "several-documents.yaml")).engines
    facts = engine.deployment
    assert facts is not None
    assert known(facts.replicas) == 2
    assert known(facts.gpu_request) == 2
    assert known(facts.gpu_product) == "nvidia-h100-80gb"
    assert known(facts.cpu_limit) == 0.5
    assert known(facts.memory_limit_bytes) == 64 * GIB
    assert known(facts.shared_memory_bytes) == 16 * GIB
    assert facts.uses_host_ipc is None
    assert known(facts.probes["startup"].seconds_until_failed) == 30 * 20
    assert known(facts.probes["liveness"].seconds_until_failed) == 120 + 3 * 10
    assert "readiness" not in facts.probes
    assert isinstance(facts.gpu_request, Known)
    assert facts.gpu_request.origin.line == 58


@pytest.mark.parametrize(
    ("options", "gpus", "shared_memory", "host_ipc"),
    [
        ("--gpus 2 --shm-size 16g", 2, 16 * GIB, None),
        ("""--gpus '"device=0,2,3"' --ipc=host""", 3, None, True),
        ("--gpus all --shm-size=512MB --ipc private", None, 512 * 1024**2, False),
    ],
)
def test_docker_run(
    options: str, gpus: int | None, shared_memory: int | None, host_ipc: bool | None
) -> None:
    facts = deployment(f"docker run {options} vllm/vllm-openai:v0.11.0 --model m --seed 1", "x.sh")
    if gpus is None:
        assert isinstance(facts.gpu_request, Unknown)
    else:
        assert known(facts.gpu_request) == gpus
    assert facts.shared_memory_bytes is None or known(facts.shared_memory_bytes) == shared_memory
    assert facts.uses_host_ipc is None or known(facts.uses_host_ipc) == host_ipc


COMPOSE = """services:
  vllm:
    image: vllm/vllm-openai:v0.11.0
    command: --model m
    shm_size: ${SHM:-8gb}
    deploy:
      replicas: 2
      resources:
        limits: {memory: 32G, cpus: "4.5"}
        reservations:
          devices:
            - driver: nvidia
              capabilities: [gpu]
              DEVICES
"""


@pytest.mark.parametrize(
    ("devices", "gpus"),
    [("count: 4", 4), ("device_ids: ['0', '3']", 2), ("device_ids: ['${GPUS:-0,1}']", 2)],
)
def test_compose(devices: str, gpus: int) -> None:
    facts = deployment(COMPOSE.replace("DEVICES", devices), "compose.yaml")
    assert known(facts.gpu_request) == gpus
    assert known(facts.replicas) == 2
    assert known(facts.shared_memory_bytes) == 8 * GIB
    assert known(facts.memory_limit_bytes) == 32 * GIB
    assert known(facts.cpu_limit) == 4.5


@pytest.mark.parametrize(
    ("devices", "ids"),
    [
        ("count: 2", ("0", "1")),  # the first ones
        ("device_ids: ['3', '0']", ("3", "0")),
        ("device_ids: ['${GPUS:-0,1}']", ("0", "1")),
        ("count: all", ("all",)),
    ],
)
def test_gpus_of_the_host_that_a_service_gets(devices: str, ids: tuple[str, ...]) -> None:
    facts = deployment(COMPOSE.replace("DEVICES", devices), "compose.yaml")
    assert known(facts.gpu_ids) == ids


def test_services_run_beside_each_other_unless_a_profile_decides() -> None:
    service = "    image: vllm/vllm-openai:v0.11.0\n    command: --model m\n"
    text = f"services:\n  one:\n{service}  two:\n{service}  other:\n{service}    profiles: [x]\n"
    one, two, other = parse_text(text, "compose.yaml").engines
    assert [engine.name for engine in one.beside] == ["two"]
    assert [engine.name for engine in two.beside] == ["one"]
    assert other.beside == ()


@pytest.mark.parametrize("devices", ["count: all", "count: ${COUNT}", "driver: nvidia"])
def test_number_of_gpus_that_the_host_decides_is_unknown(devices: str) -> None:
    facts = deployment(COMPOSE.replace("DEVICES", devices), "compose.yaml")
    assert isinstance(facts.gpu_request, Unknown)


@pytest.mark.parametrize(
    ("path", "name", "gpus", "product"),
    [
        ("kubeai/catalog.yaml", "gemma-3-12b-h100", 2, "nvidia-gpu-h100"),
        ("ray/serve-config.yaml", "qwen-coder", None, "H200"),
        ("skypilot/pipeline.sky.yaml", "chat", 2, "A100-80GB"),
        ("truss/folded-command.yaml", "qwen-vl", 2, "L4"),
        ("helm/stack-subchart.yaml", "chat", 2, None),
        ("helm/modelservice-roles.yaml", "decode", 8, None),
        ("dynamo/components.yaml", "Worker", 4, None),
        ("aibrix/roles.yaml", "prefill", 2, None),
    ],
)
def test_accelerators_of_other_forms(
    path: str, name: str, gpus: int | None, product: str | None
) -> None:
    engines = {engine.name: engine for engine in parse_file(str(INPUTS / path)).engines}
    facts = engines[name].deployment
    assert facts is not None
    assert (facts.gpu_request and known(facts.gpu_request)) == gpus
    assert (facts.gpu_product and known(facts.gpu_product)) == product


def test_alternatives_of_skypilot_leave_the_product_open() -> None:
    (engine,) = parse_file(str(INPUTS / "skypilot/pinned.yaml")).engines
    assert engine.deployment is not None
    assert engine.deployment.gpu_request is not None
    assert known(engine.deployment.gpu_request) == 8
    assert isinstance(engine.deployment.gpu_product, Unknown)
