"""The custom resource VLLMRuntime of the production-stack operator."""

from __future__ import annotations

from scheduler_reader.parse.charts.production_stack import (
    PORT,
    engine_env,
    engine_words,
    transfer_config,
    unknown_keys,
)
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import environment, plain_text
from scheduler_reader.parse.yaml_nodes import child, compose, place

FORM = "vllm-runtime"
KIND = "VLLMRuntime"


def matches(file: InputFile) -> bool:
    """Whether a document of the file is a VLLMRuntime."""
    return KIND in file.text and any(
        plain_text(child(document, "kind")) == KIND for document in compose(file)[0]
    )


def read(file: InputFile) -> ParsedFile:
    """One engine for each VLLMRuntime."""
    documents, problems = compose(file)
    engines = []
    for document in documents:
        model, config = child(document, "spec", "model"), child(document, "spec", "vllmConfig")
        if plain_text(child(document, "kind")) != KIND or model is None:
            continue
        image = child(document, "spec", "deploymentConfig", "image", "name")
        problems += unknown_keys(config, file)
        host = tuple(Word(text, place(model, file)) for text in ("--host", "0.0.0.0"))
        port = tuple(Word(text, place(model, file)) for text in ("--port", PORT))
        cache = transfer_config(child(document, "spec", "lmCacheConfig"), config, file)
        engines.append(
            ParsedEngine(
                FORM,
                place(document, file),
                name=plain_text(child(document, "metadata", "name")),
                words=engine_words(model, config, file),
                implied=(*host, *port, *cache),
                env=engine_env(config, file)
                | environment(child(document, "spec", "deploymentConfig", "env"), file),
                image_version=known_release(
                    release_of_image(plain_text(image) or ""), place(image or document, file)
                ),
            )
        )
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))
