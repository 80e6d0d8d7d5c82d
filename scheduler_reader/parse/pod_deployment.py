"""GPUs, memory, probes and replicas of a Kubernetes container and its pod.

Source: the Kubernetes API reference (ResourceRequirements, Probe, Volume); the node labels of
GKE, EKS, AKS, and of NVIDIA's and AMD's GPU feature discovery.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.deployment import Deployment, Probe, ProbeKind
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import cores, count, kubernetes_bytes
from scheduler_reader.parse.source import Word
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, entries, items, place
from scheduler_reader.value import Known, Origin, Unknown, Value, derive

GPU_RESOURCES = (
    *("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"),
    *("habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuron", "huawei.com/Ascend910"),
)
MIG_PREFIX = "nvidia.com/mig-"
PRODUCT_LABELS = (
    *("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "gpu.nvidia.com/class"),
    *("gpu.nvidia.com/model", "amd.com/gpu.product-name", "k8s.amazonaws.com/accelerator"),
    *("karpenter.k8s.aws/instance-gpu-name", "cloud.google.com/gke-tpu-accelerator"),
    *("accelerator", "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
)
# Kubernetes API reference, Probe v1: what counts where a field is not given.
INITIAL_DELAY_S, PERIOD_S, FAILURES = 0, 10, 3
NO_LIMIT = Unknown("/dev/shm has no sizeLimit of its own")
KINDS: tuple[ProbeKind, ...] = ("startup", "liveness", "readiness")


def pod_deployment(
    pod_spec: yaml.Node, container: yaml.Node, replicas: yaml.Node | None, file: InputFile
) -> Deployment:
    """What the pod says about the surroundings of one of its containers."""
    resources = child(container, "resources")
    limits, requests = child(resources, "limits"), child(resources, "requests")
    host_ipc = child(pod_spec, "hostIPC")
    shared_memory = _shared_memory(pod_spec, container, file)
    return Deployment(
        replicas=count(_word(replicas, file)),
        gpu_request=_gpus(limits, file) or _gpus(requests, file),
        gpu_product=_product(pod_spec, file),
        shared_memory_bytes=shared_memory,
        has_unlimited_shared_memory=shared_memory is NO_LIMIT,
        uses_host_ipc=(
            Known(plain_text(host_ipc) == "true", place(host_ipc, file)) if host_ipc else None
        ),
        cpu_limit=cores(_word(child(limits, "cpu"), file)),
        memory_limit_bytes=kubernetes_bytes(_word(child(limits, "memory"), file)),
        probes=dict(_probes(container, file, is_alone=_is_alone(pod_spec))),
    )


def _word(node: yaml.Node | None, file: InputFile) -> Word | None:
    if not isinstance(node, yaml.ScalarNode):
        return None
    text = str(node.value)
    unknown = f"{text} is filled in by a template" if "{{" in text or "$" in text else None
    return Word(text, place(node, file), unknown)


def _gpus(resources: yaml.Node | None, file: InputFile) -> Value[int] | None:
    for entry in entries(resources) if resources is not None else ():
        if entry.key.strip() in GPU_RESOURCES or entry.key.startswith(MIG_PREFIX):
            return count(_word(entry.node, file))
    return None


def _product(pod_spec: yaml.Node, file: InputFile) -> Value[str] | None:
    found = dict(_node_labels(pod_spec))
    for label in PRODUCT_LABELS:
        node = found.get(label)
        word = _word(node, file)
        if word is not None:
            if word.unknown:
                return Unknown(word.unknown, word.origin)
            return Known(word.text, Origin("file", label, file.path, word.origin.line))
    return None


def _node_labels(pod_spec: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    """Node labels that the pod asks for, by selector or by a required affinity to one value."""
    selector = child(pod_spec, "nodeSelector")
    for entry in entries(selector) if selector is not None else ():
        yield entry.key, entry.node
    terms = child(
        pod_spec,
        *("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
        "nodeSelectorTerms",
    )
    for term in items(terms):
        for expression in items(child(term, "matchExpressions")):
            values = items(child(expression, "values"))
            key = plain_text(child(expression, "key"))
            if plain_text(child(expression, "operator")) == "In" and len(values) == 1 and key:
                yield key, values[0]


def _shared_memory(pod_spec: yaml.Node, container: yaml.Node, file: InputFile) -> Value[int] | None:
    """The `sizeLimit` of the memory volume that is mounted on /dev/shm."""
    mounts = {
        plain_text(child(mount, "name"))
        for mount in items(child(container, "volumeMounts"))
        if plain_text(child(mount, "mountPath")) == "/dev/shm"
    }
    for volume in items(child(pod_spec, "volumes")):
        directory = child(volume, "emptyDir")
        if plain_text(child(volume, "name")) not in mounts or directory is None:
            continue
        limit = child(directory, "sizeLimit")
        if limit is not None:
            return kubernetes_bytes(_word(limit, file))
        return NO_LIMIT
    return None


def _is_alone(pod_spec: yaml.Node) -> bool:
    """Whether a pod has one container, and none beside it that was started before."""
    others = child(pod_spec, "initContainers")
    return len(items(child(pod_spec, "containers"))) == 1 and not any(
        child(other, "restartPolicy") for other in items(others)
    )


def _probes(
    container: yaml.Node, file: InputFile, *, is_alone: bool
) -> Iterator[tuple[ProbeKind, Probe]]:
    for kind in KINDS:
        node = child(container, f"{kind}Probe")
        if not isinstance(node, yaml.MappingNode):
            continue
        delay = _number(node, "initialDelaySeconds", INITIAL_DELAY_S, file)
        period = _number(node, "periodSeconds", PERIOD_S, file)
        failures = _number(node, "failureThreshold", FAILURES, file)
        total = derive(
            lambda start, every, times: float(start + every * times), delay, period, failures
        )
        port = _port(node, container, file) if is_alone else None
        yield kind, Probe(total, port)


def _port(probe: yaml.Node, container: yaml.Node, file: InputFile) -> Value[int] | None:
    """The port a probe asks; a name is looked up among the ports of the container."""
    node = child(probe, "httpGet", "port") or child(probe, "tcpSocket", "port")
    name = plain_text(node)
    for port in items(child(container, "ports")):
        if name is not None and plain_text(child(port, "name")) == name:
            node = child(port, "containerPort")
    return count(_word(node, file))


def _number(node: yaml.Node, key: str, default: int, file: InputFile) -> Value[int]:
    """A field of a probe; Kubernetes' own default where it is not given."""
    stated = count(_word(child(node, key), file))
    return stated or Known(default, Origin("derived", f"Kubernetes default of {key}"))
