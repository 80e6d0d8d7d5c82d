"""Facts about the place a deployment file runs the engine in: memory, probes, image.

Only a file that describes the whole container says what is missing in it; a chart's values leave
that to the chart, so nothing is concluded from them.
"""

from __future__ import annotations

from math import inf
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.rule_engine.known_facts.capacity import weights_gib
from scheduler_reader.rule_engine.known_facts.parallel import world_size
from scheduler_reader.rule_engine.settings import setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Known, Unknown

MIB = 1024**2


def is_whole_container(sources: Sources) -> bool:
    """The file describes the whole container that the engine runs in."""
    parsed = sources.engine.parsed
    return parsed.deployment is not None and parsed.form in _assumed()["whole_containers"]


def shared_memory_mib(sources: Sources) -> float | Unknown:
    """Size of /dev/shm in MiB; infinite where it is the host's or has no limit of its own."""
    deployment = _deployment(sources)
    if not is_whole_container(sources) or deployment is None:
        return Unknown("the file does not describe the container the engine runs in")
    is_host_ipc = isinstance(deployment.uses_host_ipc, Known) and deployment.uses_host_ipc.value
    if is_host_ipc or deployment.has_unlimited_shared_memory:
        return inf
    size = deployment.shared_memory_bytes
    if isinstance(size, Unknown):
        return size
    return float(_assumed()["default_shm_mib"]) if size is None else size.value / MIB


def ipc_mib(sources: Sources) -> float:
    """MiB of /dev/shm for the queue over which the engine sends each step to its workers."""
    return float(_assumed()["worker_queue_mib"])


def start_deadline_s(sources: Sources) -> float | Unknown:
    """Seconds after which a startup or liveness probe ends a container that does not answer yet;
    infinite where the file has none."""
    deployment = _deployment(sources)
    probes = deployment.probes if deployment is not None else {}
    probe = probes.get("startup") or probes.get("liveness")
    if probe is None:
        return inf
    value = probe.seconds_until_failed
    return value if isinstance(value, Unknown) else value.value


def start_probe(sources: Sources) -> str:
    """The probe that decides whether a starting container lives: startup, else liveness."""
    deployment = _deployment(sources)
    probes = deployment.probes if deployment is not None else {}
    return next((kind for kind in ("startup", "liveness") if kind in probes), "none")


def checkpoint_gib(sources: Sources) -> float | Unknown:
    """GiB of weights that are read at start-up, all ranks together."""
    model = sources.engine.model
    if isinstance(model, Known) and model.value.weight_bytes:
        return model.value.weight_bytes / GIB
    size, ranks = weights_gib(sources), world_size(sources)
    if isinstance(size, Unknown):
        return size
    return ranks if isinstance(ranks, Unknown) else size * ranks


def weight_read_gib_per_s(sources: Sources) -> float:
    """The rate at which weights are assumed to be read, GiB/s."""
    return float(_assumed()["weight_read_gib_per_s"])


def start_without_weights_s(sources: Sources) -> float:
    """Seconds that a start is assumed to take beside reading the weights."""
    return float(_assumed()["start_without_weights_s"])


def memory_limit_gib(sources: Sources) -> float | Unknown:
    """The container's memory limit in GiB; infinite where the file has none."""
    deployment = _deployment(sources)
    limit = deployment.memory_limit_bytes if deployment is not None else None
    if limit is None:
        return inf
    return limit if isinstance(limit, Unknown) else limit.value / GIB


def pinned_gib(sources: Sources) -> float | Unknown:
    """Host memory that the engine pins: weights kept there and swap space, of all ranks."""
    ranks = world_size(sources)
    amounts = [setting_value(sources.engine, name) for name in ("cpu_offload_gb", "swap_space")]
    if sources.engine.engine != "V0":
        amounts = amounts[:1]
    for value in (ranks, *amounts):
        if isinstance(value, Unknown):
            return value
    assert isinstance(ranks, int)
    return ranks * sum(float(value or 0) for value in amounts)


def image_tag(sources: Sources) -> str:
    """The tag of a vLLM image: latest where none is written, empty where there is no image."""
    deployment = _deployment(sources)
    image = deployment.image if deployment is not None else None
    if not isinstance(image, Known) or "@" in image.value:
        return ""
    from scheduler_reader.parse.image_version import image_parts

    return image_parts(image.value)[1] or "latest"


def probe_port(sources: Sources) -> int | Unknown:
    """The port that the probes of a pod with a single container ask; 0 where it is not known."""
    deployment = _deployment(sources)
    for probe in (deployment.probes if deployment is not None else {}).values():
        if isinstance(probe.port, Known):
            return probe.port.value
    return 0


def _deployment(sources: Sources) -> Deployment | None:
    return sources.engine.parsed.deployment


def _assumed() -> dict[str, Any]:
    found: dict[str, Any] = documents("compat_matrix", "deployment.yaml")["deployment.yaml"]
    return found
