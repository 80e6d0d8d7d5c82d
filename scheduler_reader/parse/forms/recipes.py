"""vLLM recipes: one YAML file a model, with base arguments, variants and features.

Each variant is an engine of its own.  A feature's arguments are unknown: the reader of the recipe
switches it on.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Word
from scheduler_reader.parse.yaml_arguments import environment, option, word, words
from scheduler_reader.parse.yaml_nodes import child, compose, entries, place

FORM = "recipe"


def matches(file: InputFile) -> bool:
    """Whether the file describes a model with its id and base arguments."""
    return "model_id:" in file.text and any(map(_is_recipe, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """One engine for each variant."""
    documents, problems = compose(file)
    recipes = filter(_is_recipe, documents)
    engines = tuple(engine for recipe in recipes for engine in _engines(recipe, file))
    return ParsedFile(file.path, FORM, engines, tuple(problems))


def _is_recipe(document: yaml.Node) -> bool:
    model = child(document, "model")
    return child(model, "model_id") is not None and (
        child(model, "base_args") is not None or child(document, "variants") is not None
    )


def _engines(recipe: yaml.Node, file: InputFile) -> Iterator[ParsedEngine]:
    model = child(recipe, "model")
    base = words(child(model, "base_args"), file)
    env = environment(child(model, "base_env"), file)
    features = tuple(_features(recipe, file))
    variants = child(recipe, "variants")
    named: list[tuple[str | None, yaml.Node]] = [
        (entry.key, entry.node) for entry in entries(variants)
    ]
    for name, variant in named or [(None, recipe)]:
        source = child(variant, "model_id") or child(model, "model_id")
        arguments = [*base, *words(child(variant, "extra_args"), file)]
        for entry in entries(variant):
            if entry.key == "tp":
                name_word, size = option("tensor-parallel-size", entry, file)
                by_gpu = isinstance(entry.node, yaml.MappingNode)
                reason = "the recipe gives it for each GPU" if by_gpu else size.unknown
                arguments += [name_word, size._replace(unknown=reason)]
        yield ParsedEngine(
            FORM,
            place(variant, file),
            name=name,
            words=((word(source, file),) if source is not None else ())
            + tuple(arguments)
            + _not_in(features, arguments),
            env=env | environment(child(variant, "extra_env"), file),
        )


def _features(recipe: yaml.Node, file: InputFile) -> Iterator[Word]:
    features = child(recipe, "features")
    for entry in entries(features):
        for found in words(child(entry.node, "args"), file):
            yield found._replace(unknown=f"feature {entry.key} may add it")


def _not_in(features: tuple[Word, ...], arguments: list[Word]) -> tuple[Word, ...]:
    """Features whose options the variant does not give itself."""
    given = {found.text for found in arguments}
    kept: list[Word] = []
    keeps = False
    for found in features:
        if found.text.startswith("-"):
            keeps = found.text not in given
        if keeps:
            kept.append(found)
    return tuple(kept)
