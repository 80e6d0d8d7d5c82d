"""vec-inf (Vector Institute): `models.yaml`, engine arguments under their own option names.

Source: vec_inf/client/_slurm_script_generator.py: a boolean prints the option whatever its value.
"""

from __future__ import annotations

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, plain_text, text_word, word
from scheduler_reader.parse.yaml_nodes import Entry, child, compose, entries, place, value_of

FORM = "vec-inf"
ARGUMENTS = "vllm_args"


def matches(file: InputFile) -> bool:
    """Whether the file has `models` with arguments for vLLM."""
    return ARGUMENTS in file.text and any(map(_models, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """One engine for each model."""
    documents, problems = compose(file)
    engines = []
    for document in documents:
        for model in _models(document):
            engines.append(_engine(model, file))
            problems += _switched_on(model, file)
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _models(document: yaml.Node) -> list[Entry]:
    """The models with arguments; their keys are options (`--max-model-len`), or all one text."""
    found = []
    for entry in entries(child(document, "models")):
        arguments = child(entry.node, ARGUMENTS)
        keys = [argument.key for argument in entries(arguments)]
        is_text = isinstance(arguments, yaml.ScalarNode)
        if is_text or (keys and all(key.startswith("-") for key in keys)):
            found.append(entry)
    return found


def _engine(model: Entry, file: InputFile) -> ParsedEngine:
    arguments = child(model.node, ARGUMENTS)
    found: list[Word] = [text_word(model.key, model.key_node, file)]
    if isinstance(arguments, yaml.ScalarNode):
        pieces = (plain_text(arguments) or "").split(",")
        found += [text_word(piece.strip(), arguments, file) for piece in pieces if piece.strip()]
    for entry in entries(arguments):
        found += _words(entry, file)
    origin = place(model.key_node, file)
    implied = ("--served-model-name", model.key, "--host", "0.0.0.0")
    return ParsedEngine(
        FORM,
        origin,
        name=model.key,
        words=tuple(found),
        implied=tuple(Word(text, origin) for text in implied),
        env=environment(child(model.node, "env"), file),
    )


def _words(entry: Entry, file: InputFile) -> list[Word]:
    option = Word(entry.key, place(entry.key_node, file))
    value = value_of(entry.node)
    if value is True or value is None:
        return [option]
    if value is False:
        return [Word(f"{entry.key}=false", option.origin)]
    return [option, word(entry.node, file)]


def _switched_on(model: Entry, file: InputFile) -> list[Problem]:
    arguments = child(model.node, ARGUMENTS)
    return [
        Problem(
            f"vec-inf prints {entry.key} whatever its boolean is: false switches it on; remove it",
            place(entry.key_node, file),
        )
        for entry in entries(arguments)
        if value_of(entry.node) is False
    ]
