"""The llm-d modelservice chart: `decode`, `prefill`, and the model artifact that both serve.

The container's `modelCommand` says who writes the command: `vllmServe` and `imageDefault` let the
chart add model, port, parallel sizes and served name; `custom` (the default) takes it as it is.
Source: llm-d-modelservice, templates/_helpers.tpl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.pod_deployment import pod_deployment
from scheduler_reader.parse.source import ParsedEngine, Problem, Word
from scheduler_reader.parse.yaml_arguments import (
    environment,
    is_true,
    plain_text,
    text_word,
    words,
)
from scheduler_reader.parse.yaml_nodes import child, items, place, value_of
from scheduler_reader.record import Record

ROLES = ("decode", "prefill")
WRITTEN_BY_CHART = frozenset({"vllmServe", "imageDefault"})
SERVICE_PORT, PROXY_PORT = "8000", "8200"
MOUNT_PATH = "/model-cache"
VALUES = re.compile(r"\"?\{\{-?\s*\.Values\.([\w.]+)\s*-?\}\}\"?")
PARALLEL = {"tensor": "--tensor-parallel-size", "data": "--data-parallel-size"}
LOCAL = {"dataLocal": "--data-parallel-size-local"}


class Role(Record):
    """`decode` or `prefill`, and its values."""

    name: str
    node: yaml.Node


def roles_of(document: yaml.Node) -> list[Role]:
    """The roles that the values switch on and give containers."""
    return [
        Role(name, node)
        for name in ROLES
        if (node := child(document, name)) is not None
        and items(child(node, "containers"))
        and value_of(child(node, "create") or node) is not False
    ]


def read_engines(
    document: yaml.Node, file: InputFile, form: str
) -> tuple[list[ParsedEngine], list[Problem]]:
    """One engine for each role that is created."""
    engines: list[ParsedEngine] = []
    problems: list[Problem] = []
    for role in roles_of(document):
        found = [
            engine
            for container in items(child(role.node, "containers"))
            for engine in _engine(document, role, container, file, form)
        ]
        if not found:
            message = f"no container of {role.name} is seen to run a vLLM server"
            problems.append(Problem(message, place(role.node, file)))
        engines += found
    return engines, problems


def _engine(
    document: yaml.Node, role: Role, container: yaml.Node, file: InputFile, form: str
) -> Iterator[ParsedEngine]:
    surroundings = pod_deployment(role.node, container, child(role.node, "replicas"), file)
    if plain_text(child(container, "modelCommand")) not in WRITTEN_BY_CHART:
        pods = PodReader(file, form)
        for engine in pods.container_engines(pods.container(container, surroundings)):
            yield engine._replace(name=role.name)
        return
    env = environment(child(container, "env"), file)
    image = child(container, "image")
    model, reason = _model(document, file)
    sizes = _parallel_sizes(child(role.node, "parallelism"), file)
    yield ParsedEngine(
        form,
        place(container, file),
        name=role.name,
        words=(*model, *sizes, *words(child(container, "args"), file, env)),
        implied=tuple(_implied(document, role.name, file)),
        env=env,
        image_version=known_release(
            release_of_image(plain_text(image) or ""), place(image or container, file)
        ),
        unresolved={} if model else {"model": reason},
        deployment=surroundings,
    )


def _model(document: yaml.Node, file: InputFile) -> tuple[tuple[Word, ...], str]:
    """The model that the artifact's address names, and why there is none."""
    uri = child(document, "modelArtifacts", "uri")
    text = resolved(plain_text(uri) or "", document)
    protocol, separator, path = text.partition("://")
    if uri is None or not separator:
        return (), "modelArtifacts.uri is not in the file"
    if protocol == "pvc+hf":
        path = "/".join(path.split("/")[-2:])
    elif protocol == "pvc":
        mount = plain_text(child(document, "modelArtifacts", "mountPath")) or MOUNT_PATH
        path = f"{mount}/{path.partition('/')[2]}"
    elif protocol != "hf":
        return (), f"modelArtifacts.uri is {protocol}://, an artifact without a model name"
    return (text_word(path, uri, file),), ""


def resolved(text: str, document: yaml.Node) -> str:
    """The text with `{{ .Values.a.b }}` replaced by the value that the same file has there."""

    def value(match: re.Match[str]) -> str:
        return plain_text(child(document, *match[1].split("."))) or match[0]

    return VALUES.sub(value, text)


def _parallel_sizes(parallelism: yaml.Node | None, file: InputFile) -> Iterator[Word]:
    for key, option in (PARALLEL | LOCAL).items():
        node = child(parallelism, key)
        text = plain_text(node)
        if node is not None and text not in {None, "0", "1"}:
            yield Word(option, place(node, file))
            yield text_word(str(text), node, file)


def _implied(document: yaml.Node, role: str, file: InputFile) -> Iterator[Word]:
    routing = child(document, "routing")
    has_proxy = is_true(child(routing, "proxy", "enabled") or document)
    if role == "prefill" or not has_proxy:
        port = plain_text(child(routing, "servicePort")) or SERVICE_PORT
    else:
        port = plain_text(child(routing, "proxy", "targetPort")) or PROXY_PORT
    origin = place(document, file)
    yield Word("--port", origin)
    yield Word(port, origin)
    name = child(document, "modelArtifacts", "name")
    if name is not None:
        yield Word("--served-model-name", place(name, file))
        yield text_word(resolved(plain_text(name) or "", document), name, file)
