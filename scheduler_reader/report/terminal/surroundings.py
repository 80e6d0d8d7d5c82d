"""What a deployment file says about an engine's surroundings, in a few words each."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.report.wording import plural
from scheduler_reader.value import Known, Value


def surroundings(deployment: Deployment | None) -> list[str]:
    """`2 replicas`, `4 GPUs`, `nvidia-l4`, `/dev/shm 16 GiB`; what is not said or not known is left out."""
    return [] if deployment is None else list(_said(deployment))


def _said(deployment: Deployment) -> Iterator[str]:
    if isinstance(deployment.replicas, Known):
        yield plural(deployment.replicas.value, "replica")
    if isinstance(deployment.gpu_request, Known):
        yield plural(deployment.gpu_request.value, "GPU")
    if isinstance(deployment.gpu_product, Known):
        yield deployment.gpu_product.value
    if isinstance(deployment.uses_host_ipc, Known) and deployment.uses_host_ipc.value:
        yield "/dev/shm of the host"
    yield from _gib("/dev/shm", deployment.shared_memory_bytes)
    yield from _gib("memory limit", deployment.memory_limit_bytes)
    for kind, probe in deployment.probes.items():
        if kind != "readiness" and isinstance(probe.seconds_until_failed, Known):
            yield f"{kind} probe gives up after {probe.seconds_until_failed.value:g} s"


def _gib(name: str, size: Value[int] | None) -> Iterator[str]:
    if isinstance(size, Known):
        yield f"{name} {size.value / GIB:.3g} GiB"
