"""LocalAI model files with the vLLM backend.

Some arguments have keys of their own; any other stands under `engine_args`, which wins.
`context_size` is LocalAI's.  Source: LocalAI, docs/content/features/text-generation.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, ParsedFile
from scheduler_reader.parse.yaml_arguments import keywords, plain_text, word
from scheduler_reader.parse.yaml_nodes import child, compose, items, place

FORM = "localai"
OWN_KEYS = frozenset(
    {
        "quantization",
        "gpu_memory_utilization",
        "trust_remote_code",
        "enforce_eager",
        "swap_space",
        "max_model_len",
        "tensor_parallel_size",
        "disable_log_stats",
        "dtype",
        "load_format",
        "limit_mm_per_prompt",
    }
)
SCHEMES = ("huggingface://", "hf://")


def matches(file: InputFile) -> bool:
    """Whether the file has a model with a vLLM backend."""
    return "backend:" in file.text and any(
        next(_models(document, file), None) is not None for document in compose(file)[0]
    )


def read(file: InputFile) -> ParsedFile:
    """One engine for each model."""
    documents, problems = compose(file)
    engines = [
        _engine(model, inner) for document in documents for model, inner in _models(document, file)
    ]
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _models(document: yaml.Node, file: InputFile) -> Iterator[tuple[yaml.Node, InputFile]]:
    """The models of a file: one, a list, or the `config_file` text of a gallery entry."""
    for node in (document, *items(document)):
        text = child(node, "config_file")
        if isinstance(text, yaml.ScalarNode):
            inner = embedded(text, file)
            for found in compose(inner)[0]:
                yield from _models(found, inner)
        backend = plain_text(child(node, "backend")) or ""
        is_model = child(node, "parameters") is not None or child(node, "engine_args") is not None
        if is_model and (backend == "vllm" or backend.endswith("-vllm")):
            yield node, file


def _engine(model: yaml.Node, file: InputFile) -> ParsedEngine:
    own = [entry for entry in keywords(model, file) if entry.key in OWN_KEYS]
    source = child(model, "parameters", "model")
    given = {entry.key: entry for entry in (*own, *keywords(child(model, "engine_args"), file))}
    arguments = list(given.values())
    if source is not None and "model" not in given:
        text = word(source, file)
        name = text.text
        for scheme in SCHEMES:
            name = name.removeprefix(scheme)
        arguments.insert(0, ConfigEntry("model", name, text.origin, text.unknown))
    return ParsedEngine(
        FORM,
        place(model, file),
        name=plain_text(child(model, "name")),
        entrypoint="api_server",
        keywords=tuple(arguments),
        unresolved={} if source is not None else {"model": "parameters.model is not in the file"},
    )
