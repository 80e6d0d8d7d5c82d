"""The custom resource VLLMRuntime of the production-stack operator.

Its booleans are Go's: what the resource does not say is false, so chunked prefill and prefix
caching are switched off, and `VLLM_USE_V1` is 0.
Source: production-stack, operator/internal/controller/vllmruntime_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.charts.production_stack import (
    PORT,
    V0_CONNECTOR,
    V1_CONNECTOR,
    engine_env,
    engine_words,
    transfer_config,
    unknown_keys,
)
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import environment, is_true, plain_text
from scheduler_reader.parse.yaml_nodes import child, compose, place
from scheduler_reader.value import Known

FORM = "vllm-runtime"
KIND = "VLLMRuntime"
SWITCHES = {
    "enableChunkedPrefill": "--no-enable-chunked-prefill",
    "enablePrefixCaching": "--no-enable-prefix-caching",
}


def matches(file: InputFile) -> bool:
    """Whether a document of the file is a VLLMRuntime."""
    return KIND in file.text and any(map(_is_runtime, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """One engine for each VLLMRuntime."""
    documents, problems = compose(file)
    runtimes = list(filter(_is_runtime, documents))
    for runtime in runtimes:
        problems += unknown_keys(child(runtime, "spec", "vllmConfig"), file)
    engines = tuple(_engine(runtime, file) for runtime in runtimes)
    return ParsedFile(file.path, FORM, engines, tuple(problems))


def _is_runtime(document: yaml.Node) -> bool:
    is_kind = plain_text(child(document, "kind")) == KIND
    return is_kind and child(document, "spec", "model") is not None


def _engine(runtime: yaml.Node, file: InputFile) -> ParsedEngine:
    spec = child(runtime, "spec") or runtime
    model, config = child(spec, "model") or spec, child(spec, "vllmConfig")
    image = child(spec, "deploymentConfig", "image", "name")
    use_v1 = {"VLLM_USE_V1": Known("0", place(config or spec, file))}
    return ParsedEngine(
        FORM,
        place(runtime, file),
        name=plain_text(child(runtime, "metadata", "name")),
        words=engine_words(model, config, file),
        implied=tuple(_implied(spec, file)),
        env={
            **use_v1,
            **engine_env(config, file),
            **environment(child(spec, "deploymentConfig", "env"), file),
        },
        image_version=known_release(
            release_of_image(plain_text(image) or ""), place(image or runtime, file)
        ),
    )


def _implied(spec: yaml.Node, file: InputFile) -> Iterator[Word]:
    config = child(spec, "vllmConfig")
    origin = place(config or spec, file)
    for text in ("--host", "0.0.0.0", "--port", PORT):
        yield Word(text, origin)
    for key, option in SWITCHES.items():
        if child(config, key) is None:
            yield Word(option, origin)
    connector = V1_CONNECTOR if is_true(child(config, "v1")) else V0_CONNECTOR
    yield from transfer_config(child(spec, "lmCacheConfig"), connector, file)
