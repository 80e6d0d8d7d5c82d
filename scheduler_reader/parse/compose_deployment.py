"""GPUs, shared memory and limits of a compose service.

Source: compose-spec (`deploy`, `gpus`, `shm_size`, `ipc`, `mem_limit`, `cpus`, `scale`).
"""

from __future__ import annotations

from collections.abc import Callable

import yaml

from scheduler_reader.parse.compose_services import Service
from scheduler_reader.parse.deployment import ALL, Deployment
from scheduler_reader.parse.docker_run import ALL_GPUS, gpus_of_docker
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import cores, count, docker_bytes
from scheduler_reader.parse.source import Word
from scheduler_reader.parse.yaml_nodes import child, items, place
from scheduler_reader.value import Known, Unknown, Value, derive

Reader = Callable[[yaml.Node], Word]


def compose_deployment(service: Service, read: Reader, file: InputFile) -> Deployment:
    """What a service says about its surroundings; `read` interpolates a value."""

    def word(*path: str) -> Word | None:
        node = service.get(*path)
        return read(node) if isinstance(node, yaml.ScalarNode) else None

    ipc = word("ipc")
    return Deployment(
        replicas=count(word("deploy", "replicas") or word("scale")),
        needs_profile=service.get("profiles") is not None,
        gpu_request=_gpus(service, read, file),
        gpu_ids=_gpu_ids(service, read, file),
        shared_memory_bytes=docker_bytes(word("shm_size")),
        uses_host_ipc=Known(ipc.text == "host", ipc.origin) if ipc and not ipc.unknown else None,
        cpu_limit=cores(word("deploy", "resources", "limits", "cpus") or word("cpus")),
        memory_limit_bytes=docker_bytes(
            word("deploy", "resources", "limits", "memory") or word("mem_limit")
        ),
    )


def _gpus(service: Service, read: Reader, file: InputFile) -> Value[int] | None:
    short = service.get("gpus")
    if isinstance(short, yaml.ScalarNode):
        return gpus_of_docker(read(short))
    device = _gpu_device(service)
    if device is None:
        return None
    ids = items(child(device, "device_ids"))
    if ids:
        return derive(len, _ids([read(item) for item in ids]))
    number = child(device, "count")
    if number is None:
        return Unknown(ALL_GPUS, place(device, file))
    return gpus_of_docker(read(number))


def _gpu_ids(service: Service, read: Reader, file: InputFile) -> Value[tuple[str, ...]] | None:
    """Which GPUs of the host a service gets: those it names, else the first ones.

    `ALL` stands for every one.  Source: moby, daemon/nvidia_linux.go (a count is the devices from 0).
    """
    device = _gpu_device(service)
    ids = items(child(device, "device_ids")) if device is not None else []
    if ids:
        return _ids([read(item) for item in ids])
    short = service.get("gpus")
    if isinstance(short, yaml.ScalarNode) and "=" in str(short.value):
        return Unknown("which GPUs it gets is not told", place(short, file))
    count = _gpus(service, read, file)
    if isinstance(count, Known):
        return Known(tuple(map(str, range(count.value))), count.origin)
    if count is not None and count.reason == ALL_GPUS:
        return Known(ALL, place(service.node, file))
    return count


def _gpu_device(service: Service) -> yaml.Node | None:
    """The entry of the service's devices that reserves GPUs."""
    reserved = service.get("deploy", "resources", "reservations", "devices")
    for device in items(reserved) or items(service.get("gpus")):
        capabilities = {str(item.value) for item in items(child(device, "capabilities"))}
        if reserved is None or "gpu" in capabilities:
            return device
    return None


def _ids(words: list[Word]) -> Value[tuple[str, ...]]:
    """The devices that a list names; an item such as `${GPUS:-0,1}` can hold several."""
    unknown = next((word.unknown for word in words if word.unknown), None)
    if unknown:
        return Unknown(unknown, words[0].origin)
    named = (part.strip() for word in words for part in word.text.split(","))
    return Known(tuple(named), words[0].origin)
