"""KubeAI: the custom resource Model, and the `catalog` of the chart that makes such resources.

Source: kubeai, internal/modelcontroller/engine_vllm.go.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.accelerators import accelerator
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, plain_text, text_word, words
from scheduler_reader.parse.yaml_nodes import child, compose, entries, place

FORM = "kubeai"
GROUP = "kubeai.org/"
REMOTE = ("s3://", "gs://", "oss://")


def matches(file: InputFile) -> bool:
    """Whether the file has a KubeAI Model, or a catalog of models with an engine."""
    if GROUP not in file.text and "catalog:" not in file.text:
        return False
    return any(next(_models(document), None) for document in compose(file)[0])


def read(file: InputFile) -> ParsedFile:
    """One engine for each model that vLLM serves."""
    documents, problems = compose(file)
    models = [model for document in documents for model in _models(document)]
    engines = [
        _engine(name, spec, file)
        for name, spec in models
        if plain_text(child(spec, "engine")) == "VLLM"
    ]
    if models and not engines:
        message = "no model of this file has engine: VLLM"
        problems.append(Problem(message, place(models[0][1], file)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _models(document: yaml.Node) -> Iterator[tuple[str | None, yaml.Node]]:
    """Name and specification of each model; the catalog may lie below the name of a subchart."""
    spec = child(document, "spec")
    if (plain_text(child(document, "apiVersion")) or "").startswith(GROUP) and spec is not None:
        yield plain_text(child(document, "metadata", "name")), spec
        return
    parents = [document, *(entry.node for entry in entries(document))]
    for parent in parents:
        catalog = child(parent, "catalog")
        for entry in entries(catalog):
            if child(entry.node, "engine") is not None:
                yield entry.key, entry.node


def _engine(name: str | None, spec: yaml.Node, file: InputFile) -> ParsedEngine:
    env = environment(child(spec, "env"), file)
    image = child(spec, "image")
    model, reason = _model(child(spec, "url"), file)
    origin = place(spec, file)
    served = ("--served-model-name", name) if name else ()
    return ParsedEngine(
        FORM,
        origin,
        name=name,
        entrypoint="api_server",
        words=(*model, *words(child(spec, "args"), file, env)),
        implied=tuple(Word(text, origin) for text in served),
        env=env,
        image_version=known_release(
            release_of_image(plain_text(image) or ""), place(image or spec, file)
        ),
        unresolved={} if model else {"model": reason},
        deployment=accelerator(child(spec, "resourceProfile"), file),
    )


def _model(url: yaml.Node | None, file: InputFile) -> tuple[tuple[Word, ...], str]:
    """`--model` as the operator writes it, or why it is not known."""
    text = plain_text(url) or ""
    path = text.partition("?")[0]
    if url is None or not text:
        return (), "url is not in the file"
    if text.startswith("hf://"):
        path = path.removeprefix("hf://")
    elif not text.startswith(REMOTE):
        return (), f"url {text} is mounted by the operator, at a path that the file does not say"
    return (Word("--model", place(url, file)), text_word(path, url, file)), ""
