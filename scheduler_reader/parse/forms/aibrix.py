"""AIBrix: StormService and RoleSet, whose roles (prefill, decode, …) have a pod template each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_nodes import child, entries, items

if TYPE_CHECKING:
    from scheduler_reader.parse.kubernetes_objects import KubernetesObject
    from scheduler_reader.parse.pod import PodReader

FORM = "aibrix"
GROUP = "orchestration.aibrix.ai"
KINDS = frozenset({"StormService", "RoleSet", "PodSet", "RayClusterFleet", "RayClusterReplicaSet"})


def matches(file: InputFile) -> bool:
    """Whether the text names an AIBrix workload, and vLLM."""
    if GROUP not in file.text or "vllm" not in file.text.lower():
        return False  # the first form that every file is held against loads little
    from scheduler_reader.parse.kubernetes_objects import kinds_in

    return bool(KINDS & kinds_in(file))


def read(file: InputFile) -> ParsedFile:
    """One engine for each role that runs vLLM, and those of other objects of the file."""
    from scheduler_reader.parse.kubernetes_objects import read_objects
    from scheduler_reader.parse.pod import PodReader

    objects, problems = read_objects(file)
    pods = PodReader(file, FORM)
    engines = [engine for found in objects for engine in _engines(found, pods)]
    problems += pods.problems
    if not engines and not problems:
        problems.append(Problem("no role in it is seen to start vLLM", file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _engines(found: KubernetesObject, pods: PodReader) -> Iterator[ParsedEngine]:
    for name, pod_spec, replicas in _pods(found.node, found.name, None):
        for engine in pods.engines(pod_spec, replicas):
            yield engine._replace(name=name or engine.name)


def _pods(
    node: yaml.Node, name: str | None, replicas: yaml.Node | None
) -> Iterator[tuple[str | None, yaml.Node, yaml.Node | None]]:
    """Every pod spec, with the name of its role and the nearest number of replicas."""
    from scheduler_reader.parse.yaml_arguments import plain_text

    if items(child(node, "containers")):
        yield name, node, replicas
        return
    nearest = child(node, "replicas") or replicas
    for entry in entries(node):
        yield from _pods(entry.node, name, nearest)
    for item in items(node):
        yield from _pods(item, plain_text(child(item, "name")) or name, nearest)
