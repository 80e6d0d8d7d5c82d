"""Triton's vLLM backend: the engine's arguments in `model.json`; `config.pbtxt` only names it."""

from __future__ import annotations

import re

import yaml

from scheduler_reader.parse.argument_names import argument_named
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import keywords
from scheduler_reader.parse.yaml_nodes import compose, entries

FORM = "triton"
BACKEND = re.compile(r"^\s*backend\s*:\s*\"vllm\"", re.MULTILINE)
NAME = re.compile(r"^\s*name\s*:\s*\"([^\"]+)\"", re.MULTILINE)
PARAMETER = re.compile(
    r"key\s*:\s*\"(?P<key>[^\"]+)\"\s*,?\s*value\s*:?\s*\{\s*string_value\s*:\s*\"(?P<value>[^\"]*)\""
)


def matches(file: InputFile) -> bool:
    """Whether the file is a Triton model with the vLLM backend, or its arguments as JSON."""
    if file.suffix == ".pbtxt":
        return BACKEND.search(file.text) is not None
    if file.suffix != ".json":
        return False
    keys = _json_keys(file)
    is_named_so = file.name == "model.json" or any(map(_is_telling, keys))
    return "model" in keys and is_named_so and 2 * sum(map(_is_argument, keys)) >= len(keys)


def read(file: InputFile) -> ParsedFile:
    """One engine with the arguments that Triton hands to AsyncEngineArgs."""
    if file.suffix == ".pbtxt":
        return _read_pbtxt(file)
    documents, problems = compose(_as_yaml(file))
    engines = [
        ParsedEngine(
            FORM, file.origin(1), entrypoint="api_server", keywords=keywords(document, file)
        )
        for document in documents
    ]
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _read_pbtxt(file: InputFile) -> ParsedFile:
    name = NAME.search(file.text)
    arguments = tuple(
        ConfigEntry(argument, match["value"], file.origin(_line(file, match.start())))
        for match in PARAMETER.finditer(file.text)
        if (argument := argument_named(match["key"])) is not None
    )
    backend = BACKEND.search(file.text)
    message = "the engine's arguments are in 1/model.json beside this file; read that file"
    problem = Problem(message, file.origin(_line(file, backend.start() if backend else 0)))
    engine = ParsedEngine(
        FORM,
        file.origin(1),
        name=name[1] if name else None,
        entrypoint="api_server",
        keywords=arguments,
        unresolved={"*extra_args": message},
    )
    return ParsedFile(file.path, FORM, (engine,) if arguments else (), (problem,))


def _json_keys(file: InputFile) -> list[str]:
    documents, _ = compose(_as_yaml(file))
    is_map = len(documents) == 1 and isinstance(documents[0], yaml.MappingNode)
    return [entry.key for entry in entries(documents[0])] if is_map else []


def _as_yaml(file: InputFile) -> InputFile:
    """JSON is YAML but for tabs between its tokens; places stay the same."""
    return InputFile(file.path, file.text.replace("\t", " "))


def _is_argument(key: str) -> bool:
    return argument_named(key) == key


def _is_telling(key: str) -> bool:
    """Whether a key is an argument by more than a word that a request has too."""
    return "_" in key and _is_argument(key)


def _line(file: InputFile, position: int) -> int:
    return file.text.count("\n", 0, position) + 1
