"""KServe's InferenceServices and ServingRuntimes → engines.

An InferenceService adds its arguments to those of the runtime that it names; the runtime counts
where it stands in the same file.  Source: KServe's control-plane reference
(serving.kserve.io/v1alpha1, v1alpha2, v1beta1).
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.container import Container
from scheduler_reader.parse.image_version import known_release, release_of_tag
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kserve_llm import llm_engines
from scheduler_reader.parse.kserve_runtime import hugging_face_arguments, serves_with_vllm
from scheduler_reader.parse.kubernetes_objects import KubernetesObject
from scheduler_reader.parse.manifests import Manifest, pod_specs, read_manifest
from scheduler_reader.parse.pod_deployment import pod_deployment
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, entries, items, place

RUNTIMES = ("ServingRuntime", "ClusterServingRuntime")
LLM_SERVICES = ("LLMInferenceService", "LLMInferenceServiceConfig")
SERVICE = "InferenceService"
VERSION_ANNOTATION = "opendatahub.io/runtime-version"
MOUNT_PATH = "/mnt/models"


def read_kserve(file: InputFile, form: str) -> ParsedFile:
    """The engines of services and runtimes; a runtime that a service names counts once."""
    readers = dict.fromkeys(RUNTIMES, _runtime_engines) | dict.fromkeys(LLM_SERVICES, llm_engines)
    return read_manifest(file, form, {**readers, SERVICE: _service_engines})


def _runtime_engines(found: KubernetesObject, manifest: Manifest) -> Iterator[ParsedEngine]:
    services = [other for other in manifest.objects if other.kind == SERVICE]
    if any(_runtime_name(service) == found.name for service in services):
        return
    for pod_spec, replicas in pod_specs(child(found.node, "spec"), None):
        for engine in manifest.pods.engines(pod_spec, replicas):
            yield _with_stated_version(engine._replace(name=found.name), found, manifest)


def _service_engines(found: KubernetesObject, manifest: Manifest) -> Iterator[ParsedEngine]:
    predictor = child(found.node, "spec", "predictor")
    replicas = child(predictor, "minReplicas")
    model = child(predictor, "model")
    if model is None:
        for pod_spec, _ in pod_specs(predictor, None):
            for engine in manifest.pods.engines(pod_spec, replicas):
                yield engine._replace(name=found.name)
        return
    runtime = next(
        (
            other
            for other in manifest.objects
            if other.kind in RUNTIMES and other.name == _runtime_name(found)
        ),
        None,
    )
    if runtime is not None:
        for container in items(child(runtime.node, "spec", "containers"))[:1]:
            merged = _merged(container, model, predictor, replicas, manifest)
            for engine in manifest.pods.container_engines(merged):
                yield _with_stated_version(engine._replace(name=found.name), runtime, manifest)
    elif serves_with_vllm(model):
        yield _runtime_elsewhere(found, model, predictor, manifest)


def _merged(
    container: yaml.Node,
    model: yaml.Node,
    predictor: yaml.Node | None,
    replicas: yaml.Node | None,
    manifest: Manifest,
) -> Container:
    """The runtime's container with what the service adds: arguments after it, variables over it."""
    base = manifest.pods.container(container)
    added = manifest.pods.container(model)
    surroundings = pod_deployment(predictor or model, model, replicas, manifest.pods.file)
    return base._replace(
        image=added.image or base.image,
        program=added.program or base.program,
        arguments=(*base.arguments, *added.arguments),
        env={**base.env, **added.env},
        deployment=surroundings,
    )


def _runtime_elsewhere(
    found: KubernetesObject, model: yaml.Node, predictor: yaml.Node | None, manifest: Manifest
) -> ParsedEngine:
    """The engine of a service whose runtime, and so most of its command, is not in the file."""
    pods = manifest.pods
    container = pods.container(model)
    words, implied = hugging_face_arguments(container.arguments)
    name = _runtime_name(found) or plain_text(child(model, "modelFormat", "name"))
    unresolved = {}
    uri = child(model, "storageUri")
    if not _names_model(words):
        location = plain_text(uri) or "its storage"
        if location.startswith("hf://") and uri is not None:
            hub_id = location.removeprefix("hf://").partition(":")[0]
            words = (
                Word("--model", place(uri, pods.file)),
                Word(hub_id, place(uri, pods.file)),
                *words,
            )
        else:
            at = place(uri or model, pods.file)
            implied = (*implied, Word("--model", at), Word(MOUNT_PATH, at))
            unresolved["model"] = f"storageUri {location}; runtime {name} supplies --model"
    replicas = child(predictor, "minReplicas")
    engine = ParsedEngine(
        pods.form,
        place(model, pods.file),
        name=found.name,
        entrypoint="api_server",
        words=words,
        implied=implied,
        env=container.env,
        image_version=container.release,
        unresolved=unresolved,
        deployment=pod_deployment(predictor or model, model, replicas, pods.file),
    )
    return pods.placeholders.engine(engine)


def _names_model(words: tuple[Word, ...]) -> bool:
    return any(word.text.partition("=")[0] == "--model" for word in words)


def _runtime_name(service: KubernetesObject) -> str | None:
    return plain_text(child(service.node, "spec", "predictor", "model", "runtime"))


def _with_stated_version(
    engine: ParsedEngine, runtime: KubernetesObject, manifest: Manifest
) -> ParsedEngine:
    """The release of an annotation, where the image tag states none."""
    annotations = child(runtime.node, "metadata", "annotations")
    if engine.image_version is not None or annotations is None:
        return engine
    for entry in entries(annotations):
        release = release_of_tag(plain_text(entry.node) or "")
        if entry.key == VERSION_ANNOTATION and release is not None:
            stated = known_release(release, place(entry.node, manifest.pods.file))
            return engine._replace(image_version=stated)
    return engine
