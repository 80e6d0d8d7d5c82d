"""llmaz: BackendRuntime (named argument lists of an engine) and Playground (what one model adds)."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import KubernetesObject, kinds_in, read_objects
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.serve_command import serve_command
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, plain_text, text_word, words
from scheduler_reader.parse.yaml_nodes import child, items, place
from scheduler_reader.value import Known

FORM = "llmaz"
GROUPS = frozenset({"inference.llmaz.io", "llmaz.io"})
KINDS = frozenset({"BackendRuntime", "Playground", "Service"})
LISTS = (("recommendedConfigs", "args"), ("args", "flags"))  # of this release, and of the first
ADDED = ("--host", "0.0.0.0", "--port", "8080")  # by the runtime's own default arguments
IMAGE = "vllm/vllm-openai"


def matches(file: InputFile) -> bool:
    """Whether the text names an inference resource of llmaz; vLLM is its default engine."""
    return any(group + "/" in file.text for group in GROUPS) and bool(KINDS & kinds_in(file))


def read(file: InputFile) -> ParsedFile:
    """One engine for each argument list of a runtime, and for each Playground on vLLM."""
    objects, problems = read_objects(file)
    objects = [found for found in objects if found.group in GROUPS]
    models = {
        found.name: child(found.node, "spec", "source", "modelHub", "modelID")
        for found in objects
        if found.kind == "OpenModel"
    }
    pods = PodReader(file, FORM)
    engines: list[ParsedEngine] = []
    for found in objects:
        if found.kind == "BackendRuntime":
            engines += _runtime(found, file)
        elif found.kind == "Playground":
            engines += _playground(found, models, file)
        elif found.kind == "Service":
            engines += _service(found, pods)
    problems += pods.problems
    if not engines and not problems:
        problems.append(Problem("nothing in it runs vLLM", file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _runtime(found: KubernetesObject, file: InputFile) -> Iterator[ParsedEngine]:
    spec = child(found.node, "spec") or found.node
    command = words(child(spec, "command") or child(spec, "commands"), file)
    for list_key, arguments_key in LISTS:
        for config in items(child(spec, list_key)):
            arguments = words(child(config, arguments_key), file)
            server = serve_command((*command, *arguments))
            if server is None:
                continue
            yield ParsedEngine(
                FORM,
                place(config, file),
                name=plain_text(child(config, "name")),
                entrypoint=server.entrypoint,
                words=server.arguments,
                env=environment(child(spec, "envs"), file),
                image_version=_version(spec, file),
            )


def _version(spec: yaml.Node, file: InputFile) -> Known[str] | None:
    """Image and tag stand in two keys."""
    node = child(spec, "version")
    image = plain_text(child(spec, "image")) or IMAGE
    text = f"{image}:{plain_text(node)}"
    return known_release(release_of_image(text), place(node, file)) if node is not None else None


def _playground(
    found: KubernetesObject, models: dict[str | None, yaml.Node | None], file: InputFile
) -> Iterator[ParsedEngine]:
    """A Playground adds to its runtime's arguments, which another file holds."""
    spec = child(found.node, "spec") or found.node
    config = child(spec, "backendRuntimeConfig") or child(spec, "backendConfig")
    backend = plain_text(child(config, "backendName")) or plain_text(child(config, "name"))
    if backend not in {None, "vllm"}:
        return
    name = plain_text(child(spec, "modelClaim", "modelName"))
    claimed = items(child(spec, "modelClaims", "models"))
    if name is None and claimed:
        name = plain_text(child(claimed[0], "name"))
    hub_id = models.get(name)
    model: tuple[Word, ...] = ()
    if hub_id is not None and plain_text(hub_id) is not None:
        option = Word("--model", place(hub_id, file))
        model = (option, text_word(plain_text(hub_id) or "", hub_id, file))
    origin = place(spec, file)
    arguments = child(config, "args") or child(config, "args", "flags")
    served = ("--served-model-name", name) if name else ()
    yield ParsedEngine(
        FORM,
        origin,
        name=found.name,
        entrypoint="api_server",
        words=(*model, *words(arguments, file)),
        implied=tuple(Word(text, origin) for text in (*served, *ADDED)),
        env=environment(child(config, "envs"), file),
        image_version=_version(config, file) if config is not None else None,
        unresolved={} if model else {"model": f"OpenModel {name} is not in the file"},
    )


def _service(found: KubernetesObject, pods: PodReader) -> Iterator[ParsedEngine]:
    template = child(found.node, "spec", "workloadTemplate")
    for key in ("leaderTemplate", "workerTemplate"):
        pod_spec = child(template, key, "spec")
        if pod_spec is not None:
            for engine in pods.engines(pod_spec, child(found.node, "spec", "replicas")):
                yield engine._replace(name=found.name)
