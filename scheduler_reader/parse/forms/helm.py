"""Helm values files of the charts that serve vLLM: production-stack and llm-d modelservice."""

from __future__ import annotations

import yaml

from scheduler_reader.parse.charts import modelservice, production_stack
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile, Problem
from scheduler_reader.parse.yaml_nodes import child, compose

FORM = "helm"
MARKS = (production_stack.SPEC, "decode:", "prefill:")
SUFFIXES = (".yaml", ".yml", ".tpl", ".gotmpl", "")


def matches(file: InputFile) -> bool:
    """Whether the text is values that one of these charts takes."""
    if file.suffix not in SUFFIXES or not any(mark in file.text for mark in MARKS):
        return False
    document = _values(file)
    if document is None or child(document, "kind") is not None:
        return False
    return production_stack.engine_spec(document) is not None or bool(
        modelservice.roles_of(document)
    )


def read(file: InputFile) -> ParsedFile:
    """The engines that the chart makes of the values."""
    problems = list(compose(file)[1])
    document = _values(file)
    if document is None:
        return ParsedFile(file.path, FORM, (), tuple(problems))
    spec = production_stack.engine_spec(document)
    if spec is not None:
        engines, found = production_stack.read_engines(spec, file, FORM)
    else:
        engines, found = modelservice.read_engines(document, file, FORM)
    problems += found
    if not engines and not problems:
        message = "values of a Helm chart, but no vLLM engine in them is understood"
        problems.append(Problem(message, file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _values(file: InputFile) -> yaml.Node | None:
    documents, _ = compose(file)
    is_mapping = len(documents) == 1 and isinstance(documents[0], yaml.MappingNode)
    return documents[0] if is_mapping else None
