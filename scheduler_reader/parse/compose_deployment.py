"""GPUs, shared memory and limits of a compose service.

Source: compose-spec (`deploy`, `gpus`, `shm_size`, `ipc`, `mem_limit`, `cpus`, `scale`).
"""

from __future__ import annotations

from collections.abc import Callable

import yaml

from scheduler_reader.parse.compose_services import Service
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.docker_run import gpus_of_docker
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import cores, count, docker_bytes
from scheduler_reader.parse.source import Word
from scheduler_reader.parse.yaml_nodes import child, items, place
from scheduler_reader.value import Known, Unknown, Value

Reader = Callable[[yaml.Node], Word]


def compose_deployment(service: Service, read: Reader, file: InputFile) -> Deployment:
    """What a service says about its surroundings; `read` interpolates a value."""

    def word(*path: str) -> Word | None:
        node = service.get(*path)
        return read(node) if isinstance(node, yaml.ScalarNode) else None

    ipc = word("ipc")
    return Deployment(
        replicas=count(word("deploy", "replicas") or word("scale")),
        gpu_request=_gpus(service, read, file),
        shared_memory_bytes=docker_bytes(word("shm_size")),
        uses_host_ipc=Known(ipc.text == "host", ipc.origin) if ipc and not ipc.unknown else None,
        cpu_limit=cores(word("deploy", "resources", "limits", "cpus") or word("cpus")),
        memory_limit_bytes=docker_bytes(
            word("deploy", "resources", "limits", "memory") or word("mem_limit")
        ),
    )


def _gpus(service: Service, read: Reader, file: InputFile) -> Value[int] | None:
    reserved = service.get("deploy", "resources", "reservations", "devices")
    short = service.get("gpus")
    if isinstance(short, yaml.ScalarNode):
        return gpus_of_docker(read(short))
    for device in items(reserved) or items(short):
        capabilities = {str(item.value) for item in items(child(device, "capabilities"))}
        if reserved is not None and "gpu" not in capabilities:
            continue
        ids = child(device, "device_ids")
        if items(ids):
            return _ids([read(item) for item in items(ids)])
        number = child(device, "count")
        if number is None:
            return Unknown("all GPUs of the host", place(device, file))
        return gpus_of_docker(read(number))
    return None


def _ids(words: list[Word]) -> Value[int]:
    """How many devices a list names; an item such as `${GPUS:-0,1}` can hold several."""
    unknown = next((word.unknown for word in words if word.unknown), None)
    if unknown:
        return Unknown(unknown, words[0].origin)
    return Known(sum(len(word.text.split(",")) for word in words), words[0].origin)
