"""Ray Serve LLM: `llm_configs` in a Serve config, a RayService or a model's own file.

An LLM config is found wherever it stands: in the block text `serveConfigV2`, in a ConfigMap, or as
a file of its own; RayLLM's older `engine_config` has the same arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.image_version import known_release, release_of_requirement
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, keywords, plain_text, word
from scheduler_reader.parse.yaml_nodes import child, compose, entries, items, place
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Value

FORM = "ray"
MARKS = ("engine_kwargs", "llm_configs", "serveConfigV2", "model_loading_config")


class _Around(Record):
    """What the parts around an LLM config give to its engine."""

    env: dict[str, Value[str]]
    version: Known[str] | None = None


def matches(file: InputFile) -> bool:
    """Whether the file has an LLM config, or is a RayService."""
    if not any(mark in file.text for mark in MARKS):
        return False
    documents, _ = compose(file)
    return any(
        plain_text(child(document, "kind")) == "RayService"
        or next(_configs(document, file, _Around({})), None) is not None
        for document in documents
    )


def read(file: InputFile) -> ParsedFile:
    """One engine for each LLM config."""
    documents, problems = compose(file)
    engines = []
    for document in documents:
        around = _Around(_cluster_env(document, file))
        engines += [
            _engine(node, inner, scope) for node, inner, scope in _configs(document, file, around)
        ]
        problems += _inner_problems(document, file)
    if not engines and not problems:
        message = "has no llm_configs; an engine that the application builds in Python is not read"
        problems.append(Problem(message, file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _configs(
    node: yaml.Node, file: InputFile, around: _Around
) -> Iterator[tuple[yaml.Node, InputFile, _Around]]:
    """Every LLM config below a node, with the file that its places belong to."""
    if isinstance(node, yaml.ScalarNode):
        if "\n" in node.value and any(mark in node.value for mark in MARKS):
            inner = embedded(node, file)
            for document in compose(inner)[0]:
                yield from _configs(document, inner, around)
        return
    around = _with_runtime(node, file, around)
    if child(node, "engine_kwargs") is not None or child(node, "model_loading_config") is not None:
        yield node, file, around
        return
    for part in (*items(node), *(entry.node for entry in entries(node))):
        yield from _configs(part, file, around)


def _with_runtime(node: yaml.Node, file: InputFile, around: _Around) -> _Around:
    """`runtime_env` of an application or a model: environment, and a pinned vLLM."""
    runtime = child(node, "runtime_env")
    if runtime is None:
        return around
    version = around.version
    for pin in (*items(child(runtime, "pip")), *items(child(runtime, "pip", "packages"))):
        text = plain_text(pin) or ""
        version = known_release(release_of_requirement(text), place(pin, file)) or version
    return _Around(around.env | environment(child(runtime, "env_vars"), file), version)


def _engine(config: yaml.Node, file: InputFile, around: _Around) -> ParsedEngine:
    loading = child(config, "model_loading_config") or config
    name = plain_text(child(loading, "model_id"))
    model = _model(loading, file)
    origin = place(config, file)
    return ParsedEngine(
        FORM,
        origin,
        name=name,
        entrypoint="api_server",
        keywords=(*model, *keywords(child(config, "engine_kwargs"), file)),
        implied=tuple(Word(text, origin) for text in ("--distributed-executor-backend", "ray")),
        env=around.env,
        image_version=around.version,
        deployment=_hardware(config, file),
        unresolved={} if model else {"model": "neither model_source nor model_id is in the file"},
    )


def _hardware(config: yaml.Node, file: InputFile) -> Deployment | None:
    """The product that every GPU of the model must be; how many follows from the arguments."""
    node = child(config, "accelerator_type")
    product = plain_text(node)
    if node is None or product is None:
        return None
    return Deployment(gpu_product=Known(product, place(node, file)))


def _model(loading: yaml.Node, file: InputFile) -> tuple[ConfigEntry, ...]:
    """Where the weights come from; without a source Ray takes the id."""
    for path in (
        ("model_source",),
        ("model_source", "bucket_uri"),
        ("hf_model_id",),
        ("model_id",),
    ):
        node = child(loading, *path)
        if plain_text(node) is not None and node is not None:
            text = word(node, file)
            return (ConfigEntry("model", text.text, text.origin, text.unknown),)
    return ()


def _cluster_env(document: yaml.Node, file: InputFile) -> dict[str, Value[str]]:
    """The environment of the cluster's containers; the workers run the engine and come last."""
    cluster = child(document, "spec", "rayClusterConfig")
    groups = (child(cluster, "headGroupSpec"), *items(child(cluster, "workerGroupSpecs")))
    env: dict[str, Value[str]] = {}
    for group in groups:
        for container in items(child(group, "template", "spec", "containers")):
            env |= environment(child(container, "env"), file)
    return env


def _inner_problems(document: yaml.Node, file: InputFile) -> list[Problem]:
    """What is wrong with the YAML in `serveConfigV2`, and configs that are files of their own."""
    problems: list[Problem] = []
    serve, inner = document, file
    text = child(document, "spec", "serveConfigV2")
    if isinstance(text, yaml.ScalarNode):
        inner = embedded(text, file)
        documents, problems = compose(inner)
        serve = documents[0] if documents else document
    for application in items(child(serve, "applications")):
        for config in items(child(application, "args", "llm_configs")):
            path = plain_text(config)
            if path is not None:
                message = f"the LLM config is in {path}; read that file"
                problems.append(Problem(message, place(config, inner)))
    return problems
