"""A file of Kubernetes objects → engines; forms add readers for the kinds they know better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import KubernetesObject, read_objects
from scheduler_reader.parse.pod import PodReader, config_map_data
from scheduler_reader.parse.source import PARSE_ERROR, ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_nodes import child, entries, items
from scheduler_reader.record import Record


class Manifest(Record):
    """The objects of a file, and the reader of its pods."""

    objects: tuple[KubernetesObject, ...]
    pods: PodReader


ObjectReader = Callable[[KubernetesObject, Manifest], Iterable[ParsedEngine]]


def read_manifest(
    file: InputFile, form: str, readers: Mapping[str, ObjectReader] | None = None
) -> ParsedFile:
    """The engines of every object: by the reader of its kind, else of every pod spec in it.

    A file of which nothing can be read has one engine of which nothing is known.
    """
    objects, problems = read_objects(file)
    config_maps = {
        found.name: config_map_data(found.node, file)
        for found in objects
        if found.kind == "ConfigMap" and found.name
    }
    manifest = Manifest(tuple(objects), PodReader(file, form, config_maps))
    engines: list[ParsedEngine] = []
    for found in objects:
        reader = (readers or {}).get(found.kind, workload_engines)
        engines += reader(found, manifest)
    problems += manifest.pods.problems
    if problems and not objects:
        engines = _unreadable(file, form, problems[0])
    elif not engines and not problems:
        problems.append(Problem("no container in it is seen to start vLLM", file.origin(1)))
    return ParsedFile(file.path, form, tuple(engines), tuple(problems))


def workload_engines(found: KubernetesObject, manifest: Manifest) -> list[ParsedEngine]:
    """The engines of every pod spec in an object, however deep its template stands."""
    engines = [
        engine
        for pod_spec, replicas in pod_specs(found.node, None)
        for engine in manifest.pods.engines(pod_spec, replicas)
    ]
    if len(engines) == 1 and found.name:
        return [engines[0]._replace(name=found.name)]
    return engines


def pod_specs(
    node: yaml.Node | None, replicas: yaml.Node | None
) -> Iterator[tuple[yaml.Node, yaml.Node | None]]:
    """Every mapping with a list `containers`, and the nearest `replicas` above it."""
    if node is None:
        return
    if items(child(node, "containers")):
        yield node, replicas
        return
    nearest = child(node, "replicas") or replicas
    for entry in entries(node):
        yield from pod_specs(entry.node, nearest)
    for item in items(node):
        yield from pod_specs(item, nearest)


def _unreadable(file: InputFile, form: str, problem: Problem) -> list[ParsedEngine]:
    if "{{" in file.text:  # a chart's template: what it becomes is not in the file
        return []
    message = f"{problem.message} (line {problem.origin.line})"
    return [ParsedEngine(form, file.origin(1), unresolved={PARSE_ERROR: message})]
