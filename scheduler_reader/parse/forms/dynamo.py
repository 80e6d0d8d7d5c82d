"""NVIDIA Dynamo: the workers of a DynamoGraphDeployment that run `python -m dynamo.vllm`.

The worker takes vLLM's engine arguments and options of its own (`--is-prefill-worker`, `--dyn-…`).
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import kinds_in, read_objects
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.quantity import count
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import environment, plain_text, word
from scheduler_reader.parse.yaml_nodes import child, entries, items

FORM = "dynamo"
KINDS = frozenset({"DynamoGraphDeployment", "DynamoComponentDeployment"})
WITHOUT_ENGINE = frozenset({"frontend", "planner", "epp", "main"})


def matches(file: InputFile) -> bool:
    """Whether the text names a Dynamo deployment, and vLLM."""
    return "vllm" in file.text.lower() and bool(KINDS & kinds_in(file))


def read(file: InputFile) -> ParsedFile:
    """One engine for each worker that runs vLLM."""
    objects, problems = read_objects(file)
    pods = PodReader(file, FORM)
    engines = [
        engine
        for found in objects
        if found.kind in KINDS
        for engine in _engines(child(found.node, "spec") or found.node, found.name, pods)
    ]
    problems += pods.problems
    if not engines and not problems:
        problems.append(Problem("no worker of it runs dynamo.vllm", file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _engines(spec: yaml.Node, name: str | None, pods: PodReader) -> Iterator[ParsedEngine]:
    shared = environment(child(spec, "envs") or child(spec, "env"), pods.file)
    for role, component in _components(spec, name):
        kind = child(component, "componentType") or child(component, "type")
        if plain_text(kind) in WITHOUT_ENGINE:
            continue
        own = shared | environment(child(component, "envs"), pods.file)
        for node in _containers(component):
            container = pods.container(node, _deployment(component, pods.file))
            container = container._replace(name=role, env=own | dict(container.env))
            yield from pods.container_engines(container)


def _components(spec: yaml.Node, name: str | None) -> Iterator[tuple[str | None, yaml.Node]]:
    """`services` by name (v1alpha1), a list of components (v1beta1), or one component."""
    services = child(spec, "services")
    for entry in entries(services):
        yield entry.key, entry.node
    for component in (*items(services), *items(child(spec, "components"))):
        yield plain_text(child(component, "name")), component
    if child(spec, "extraPodSpec") is not None:
        yield plain_text(child(spec, "serviceName")) or name, spec


def _containers(component: yaml.Node) -> Iterator[yaml.Node]:
    main = child(component, "extraPodSpec", "mainContainer")
    if main is not None:
        yield main
    yield from items(child(component, "podTemplate", "spec", "containers"))


def _deployment(component: yaml.Node, file: InputFile) -> Deployment:
    """Replicas and GPUs: Dynamo counts them under `gpu` or as Kubernetes does."""
    resources = child(component, "resources")
    gpu = child(resources, "limits", "gpu") or child(resources, "requests", "gpu")
    replicas = child(component, "replicas")
    return Deployment(
        replicas=count(word(replicas, file)) if replicas is not None else None,
        gpu_request=count(word(gpu, file)) if gpu is not None else None,
    )
