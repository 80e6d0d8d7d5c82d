"""LeaderWorkerSet: groups of pods that serve together; the leader starts the server.

Workers that only join a Ray cluster run no engine of their own; those that start `vllm serve`
(multi-node data parallelism) are reported beside the leader.
Source: the LeaderWorkerSet API reference, leaderworkerset.x-k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import KubernetesObject, kinds_in
from scheduler_reader.parse.manifests import Manifest, pod_specs, read_manifest
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.parse.yaml_nodes import child

FORM = "lws"
KIND = "LeaderWorkerSet"
ROLES = {"leaderTemplate": "leader", "workerTemplate": "worker"}


def matches(file: InputFile) -> bool:
    """Whether a text has a LeaderWorkerSet and names vLLM."""
    return "vllm" in file.text.lower() and KIND in kinds_in(file)


def read(file: InputFile) -> ParsedFile:
    """The engines of leaders and workers, and of the other objects in the file."""
    return read_manifest(file, FORM, {KIND: _engines})


def _engines(found: KubernetesObject, manifest: Manifest) -> Iterator[ParsedEngine]:
    spec = child(found.node, "spec")
    templates = child(spec, "leaderWorkerTemplate")
    for key, role in ROLES.items():
        template = child(templates, key)
        for pod_spec, _ in pod_specs(template, None):
            for engine in manifest.pods.engines(pod_spec, child(spec, "replicas")):
                yield engine._replace(name=role)
