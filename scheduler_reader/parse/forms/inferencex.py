"""InferenceX benchmark files: flags of each role in one text, srt-slurm and llm-d recipes.

An srt-slurm recipe hands `backend.vllm_config.<role>` to `python -m dynamo.vllm`; a boolean is a bare option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.option_text import option_text_words
from scheduler_reader.parse.quantity import whole_number
from scheduler_reader.parse.serve_command import ASSIGNMENT
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import (
    environment,
    option,
    plain_text,
    text_of,
    text_word,
    word,
    words,
)
from scheduler_reader.parse.yaml_nodes import Entry, child, compose, entries, place, value_of
from scheduler_reader.value import Known, Unknown, Value

FORM = "bench"
FLAGS = "_flags"
EXTRA = "extra-args"
ENVIRONMENTS = "_environment"
HUB_ID = re.compile(r"(?:hf:(?://)?)?([\w-][\w.-]*/[\w.-]+)")
MARKS = ("vllm_config", "decode_flags", EXTRA)


def matches(file: InputFile) -> bool:
    """Whether the file has a recipe for vLLM, or models with the flags of their roles."""
    if not any(mark in file.text for mark in MARKS):
        return False
    return any(_roles(d) or _models(d) or _parts(d) for d in compose(file)[0])


def read(file: InputFile) -> ParsedFile:
    """One engine for each role."""
    documents, problems = compose(file)
    engines = [engine for document in documents for engine in _engines(document, file)]
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _roles(document: yaml.Node) -> list[Entry]:
    roles = child(document, "backend", "vllm_config")
    found = entries(roles)
    return [entry for entry in found if isinstance(entry.node, yaml.MappingNode)]


def _models(document: yaml.Node) -> list[Entry]:
    return [
        entry
        for entry in entries(document)
        if any(part.key.endswith(FLAGS) for part in entries(entry.node))
    ]


def _parts(document: yaml.Node) -> list[Entry]:
    """The roles of an llm-d recipe."""
    return [
        entry
        for entry in entries(document)
        if entry.key in {"prefill", "decode"} and child(entry.node, EXTRA) is not None
    ]


def _engines(document: yaml.Node, file: InputFile) -> Iterator[ParsedEngine]:
    for role in _roles(document):
        yield _recipe_engine(document, role, file)
    for model in _models(document):
        env = _assignments(child(model.node, "env"), file)
        for part in entries(model.node):
            if part.key.endswith(FLAGS):
                name = part.key.removesuffix(FLAGS)
                yield ParsedEngine(
                    FORM,
                    place(part.key_node, file),
                    name=f"{model.key} {name}",
                    entrypoint="api_server",
                    words=option_text_words(embedded(part.node, file)),
                    env=env | _assignments(child(model.node, f"{name}_env"), file),
                    unresolved={"model": f"{model.key} names a folder of weights, no Hub id"},
                )

    for part in _parts(document):
        yield _part_engine(part, file)


def _part_engine(part: Entry, file: InputFile) -> ParsedEngine:
    """A role of an llm-d recipe: two keys of its own, and options in one text."""
    found: list[Word] = []
    for entry in entries(part.node):
        if entry.key == "tp":
            found += option("tensor-parallel-size", entry, file)
        elif entry.key == "enable-expert-parallel" and value_of(entry.node) is True:
            found += _words(entry, file)
        elif entry.key == EXTRA:
            found += option_text_words(embedded(entry.node, file))
    return ParsedEngine(
        FORM,
        place(part.key_node, file),
        name=part.key,
        words=tuple(found),
        env=environment(child(part.node, "env"), file),
        unresolved={"model": "the recipe does not say it; the benchmark's own settings do"},
    )


def _recipe_engine(document: yaml.Node, role: Entry, file: InputFile) -> ParsedEngine:
    image = child(document, "identity", "container", "image") or child(
        document, "model", "container"
    )
    path = child(document, "model", "path")
    named = child(document, "identity", "model", "repo") or path
    hub_id = HUB_ID.fullmatch(plain_text(named) or "")
    found: list[Word] = []
    if named is not None and hub_id is not None:
        found = [Word("--model", place(named, file)), text_word(hub_id[1], named, file)]
    for entry in entries(role.node):
        found += _words(entry, file)
    found += _share_of_node(role, file)
    env = child(document, "backend", f"{role.key}{ENVIRONMENTS}")
    reason = f"model.path {plain_text(path)} names a folder of weights, no Hub id"
    return ParsedEngine(
        FORM,
        place(role.key_node, file),
        name=role.key,
        entrypoint="dynamo",
        words=tuple(found),
        env=environment(env, file),
        image_version=known_release(
            release_of_image(plain_text(image) or ""), place(image or role.node, file)
        ),
        unresolved={} if hub_id is not None else {"model": reason},
        deployment=_deployment(document, role, file),
    )


def _share_of_node(role: Entry, file: InputFile) -> list[Word]:
    """What the recipe's launcher adds for hybrid balancing: the ranks of each node."""
    balanced = child(role.node, "data-parallel-hybrid-lb")
    if balanced is None or child(role.node, "data-parallel-size-local") is not None:
        return []
    origin = place(balanced, file)
    reason = "the launcher gives each node its share of the ranks"
    return [Word("--data-parallel-size-local", origin), Word("$RANKS", origin, reason)]


def _deployment(document: yaml.Node, role: Entry, file: InputFile) -> Deployment | None:
    """The GPUs of one worker of a role: `gpu_type`, and `gpus_per_prefill` and the like."""
    resources = child(document, "resources")
    product = child(resources, "gpu_type")
    count = child(resources, f"gpus_per_{role.key.removesuffix('regated')}")
    number = whole_number(plain_text(count) or "")
    if product is None:
        return None
    return Deployment(
        gpu_request=Known(number, place(count, file)) if number and count else None,
        gpu_product=Known(text_of(product), place(product, file)),
    )


def _words(entry: Entry, file: InputFile) -> list[Word]:
    name = text_word(f"--{entry.key}", entry.key_node, file)
    value = value_of(entry.node)
    if value is True or value is None:
        return [name]
    if value is False:
        return [text_word(f"--no-{entry.key}", entry.key_node, file)]
    return [name, *(words(entry.node, file) or [word(entry.node, file)])]


def _assignments(node: yaml.Node | None, file: InputFile) -> dict[str, Value[str]]:
    """`NAME=value NAME=value` in one text, or a map."""
    if not isinstance(node, yaml.ScalarNode):
        return environment(node, file)
    env: dict[str, Value[str]] = {}
    for found in option_text_words(embedded(node, file)):
        match = ASSIGNMENT.fullmatch(found.text)
        if match is not None:
            env[match["name"]] = (
                Unknown(found.unknown, found.origin)
                if found.unknown
                else Known(match["value"], found.origin)
            )
    return env
