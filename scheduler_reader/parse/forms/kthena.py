"""Kthena's ModelBooster: the arguments of each worker as a map (a ModelServing has pods).

Source: kthena, pkg/model-booster-controller (ConvertVLLMArgsFromJson, buildCommands): every entry
is printed as an option, a value that is no empty text after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import KubernetesObject, kinds_in
from scheduler_reader.parse.manifests import read_manifest
from scheduler_reader.parse.pod_deployment import pod_deployment
from scheduler_reader.parse.quantity import whole_number
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import environment, option, plain_text, text_word
from scheduler_reader.parse.yaml_nodes import child, entries, items, place

FORM = "kthena"
GROUP = "workload.serving.volcano.sh"
KIND = "ModelBooster"
OBJECT = re.compile(rf"^[\"']?kind[\"']?\s*:\s*[\"']?{KIND}\b", re.MULTILINE)
BACKENDS = frozenset({"vLLM", "vLLMDisaggregated"})
HUB = "hf://"
RAY = ("--distributed-executor-backend", "ray")  # where a worker has several pods


def matches(file: InputFile) -> bool:
    """Whether the text has a ModelBooster; a ModelServing that it owns only names it."""
    return GROUP in file.text and KIND in kinds_in(file) and OBJECT.search(file.text) is not None


def read(file: InputFile) -> ParsedFile:
    """One engine for each worker of a vLLM backend, and those of other objects of the file."""
    return read_manifest(file, FORM, {KIND: lambda booster, _: _engines(booster, file)})


def _engines(booster: KubernetesObject, file: InputFile) -> Iterator[ParsedEngine]:
    if booster.group != GROUP:
        return
    spec = child(booster.node, "spec")
    backends = [child(spec, "backend"), *items(child(spec, "backends"))]
    for backend in filter(None, backends):
        workers = items(child(backend, "workers"))
        if plain_text(child(backend, "type")) not in BACKENDS:
            continue
        for worker in workers:
            role = plain_text(child(worker, "type"))
            name = role if role and len(workers) > 1 else booster.name
            yield _engine(name, backend, worker, file)


def _engine(
    name: str | None, backend: yaml.Node, worker: yaml.Node, file: InputFile
) -> ParsedEngine:
    uri = child(backend, "modelURI")
    text = plain_text(uri) or ""
    found: list[Word] = []
    if uri is not None and text.startswith(HUB):
        model = text_word(text.removeprefix(HUB), uri, file)
        found = [Word("--model", place(uri, file)), model]
    for entry in entries(child(worker, "config")):
        key, value = option(entry.key.replace("_", "-"), entry, file)
        found += [key, value] if value.text else [key]
    image, origin = child(worker, "image"), place(worker, file)
    pods = whole_number(plain_text(child(worker, "pods")) or "") or 1
    reason = f"modelURI {text} is downloaded to a folder" if text else "modelURI is not in the file"
    return ParsedEngine(
        FORM,
        origin,
        name=name,
        entrypoint="api_server",
        words=tuple(found),
        implied=tuple(Word(part, origin) for part in RAY if pods > 1),
        env=environment(child(backend, "env"), file),
        image_version=known_release(
            release_of_image(plain_text(image) or ""), place(image or worker, file)
        ),
        unresolved={} if text.startswith(HUB) else {"model": reason},
        deployment=pod_deployment(worker, worker, child(worker, "replicas"), file),
    )
