"""KServe's LLMInferenceService: one engine for decode, one for prefill where it is separate.

The controller writes the command from its own templates: the model from `spec.model`, parallel
sizes from `spec.parallelism`, and whatever VLLM_ADDITIONAL_ARGS holds.  A container's own
`command` replaces that.  Source: kserve, config/llmisvcconfig templates and v1alpha2 reference.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.command_words import split_command
from scheduler_reader.parse.container import Container
from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.kubernetes_objects import KubernetesObject
from scheduler_reader.parse.manifests import Manifest
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.pod_deployment import pod_deployment
from scheduler_reader.parse.serve_command import serve_command
from scheduler_reader.parse.source import ParsedEngine, Problem, Word
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, items, place
from scheduler_reader.value import Known

ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
MAIN = "main"
HUB = "hf://"
MOUNT_PATH = "/mnt/models"
PARALLEL = {
    "tensor": "--tensor-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
    "dataLocal": "--data-parallel-size-local",
}


def llm_engines(found: KubernetesObject, manifest: Manifest) -> Iterator[ParsedEngine]:
    """The engines of one LLMInferenceService (or of a config that others build upon)."""
    spec = child(found.node, "spec")
    if spec is None:
        return
    model = _model(spec, manifest.pods)
    prefill = child(spec, "prefill")
    is_config = found.kind.endswith("Config")
    if model or child(spec, "template") is not None:
        name = "decode" if prefill is not None else found.name
        yield from _role_engines(spec, spec, name, manifest.pods, keeps_empty=not is_config)
    if prefill is not None:
        yield from _role_engines(prefill, spec, "prefill", manifest.pods, keeps_empty=True)


def _role_engines(
    role: yaml.Node, spec: yaml.Node, name: str | None, pods: PodReader, *, keeps_empty: bool
) -> Iterator[ParsedEngine]:
    template = child(role, "template")
    nodes = items(child(template, "containers"))
    main = next((node for node in nodes if plain_text(child(node, "name")) == MAIN), None)
    node = main or next(iter(nodes), None)
    model = _model(spec, pods)
    served = child(spec, "model", "name")
    implied = _option("--served-model-name", served, pods) + _parallel_sizes(role, pods)
    if not model:
        implied = (Word(MOUNT_PATH, place(role, pods.file)), *implied)
    if node is None:
        if model and keeps_empty:
            yield ParsedEngine(pods.form, model[0].origin, name, words=model, implied=implied)
        return
    surroundings = pod_deployment(template or node, node, child(role, "replicas"), pods.file)
    container = pods.container(node, surroundings)
    own = pods.container_engines(container) if container.command else []
    if own and serves_itself(container, own):
        yield from (engine._replace(name=name) for engine in own)
        return
    additional = _additional_words(container, pods)
    arguments = container.arguments if not container.program else ()
    engine = ParsedEngine(
        pods.form,
        place(node, pods.file),
        name,
        words=(*model, *arguments, *additional),
        implied=implied,
        env={key: value for key, value in container.env.items() if key != ADDITIONAL},
        image_version=container.release,
        unresolved=_mounted(spec),
        deployment=surroundings,
    )
    yield pods.placeholders.engine(engine)


def serves_itself(container: Container, engines: list[ParsedEngine]) -> bool:
    """Whether the container's own command starts the server, so that no template is used."""
    return (
        bool(container.program)
        or serve_command(container.command) is not None
        or any(word.text == "--model" for word in engines[0].words)
    )


def _model(spec: yaml.Node, pods: PodReader) -> tuple[Word, ...]:
    """The Hub id that `spec.model.uri` names; other stores are mounted, and say no model."""
    uri = child(spec, "model", "uri")
    text = plain_text(uri) or ""
    if uri is None or not text.startswith(HUB):
        return ()
    return (Word(text.removeprefix(HUB), place(uri, pods.file)),)


def _mounted(spec: yaml.Node) -> dict[str, str]:
    """Why the model is unknown, when its URI names no model of the Hub."""
    text = plain_text(child(spec, "model", "uri"))
    if text is None or text.startswith(HUB):
        return {}
    return {"model": f"model uri {text} is mounted at {MOUNT_PATH}"}


def _parallel_sizes(role: yaml.Node, pods: PodReader) -> tuple[Word, ...]:
    parallelism = child(role, "parallelism")
    words: tuple[Word, ...] = ()
    for key, option in PARALLEL.items():
        words += _option(option, child(parallelism, key), pods)
    if plain_text(child(parallelism, "expert")) == "true" and parallelism is not None:
        words += (Word("--enable-expert-parallel", place(parallelism, pods.file)),)
    return words


def _option(name: str, node: yaml.Node | None, pods: PodReader) -> tuple[Word, ...]:
    text = plain_text(node)
    if node is None or text is None:
        return ()
    return (Word(name, place(node, pods.file)), Word(text, place(node, pods.file)))


def _additional_words(container: Container, pods: PodReader) -> tuple[Word, ...]:
    """The arguments in VLLM_ADDITIONAL_ARGS; the template's shell splits them."""
    value = container.env.get(ADDITIONAL)
    if not isinstance(value, Known):
        return ()
    origin = value.origin
    words = split_command(value.value)
    if words is None:
        message = f"a quote in {ADDITIONAL} never closes; its arguments are not read"
        pods.problems.append(Problem(message, origin))
        return ()
    inner = excerpt(pods.file, value.value, origin.line or 1, origin.column or 1)
    return tuple(Word(text, inner.place(offset)) for text, offset in words)
