"""Helm's templates themselves: text that only Helm turns into YAML, which is said and no more."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile, Problem
from scheduler_reader.parse.yaml_nodes import compose

FORM = "helm-template"
ACTION = re.compile(r"\{\{-?\s*(?:if|else|range|with|include|template|define|toYaml|end)\b")
SUFFIXES = (".yaml", ".yml", ".tpl")
SERVER = re.compile(r"vllm", re.IGNORECASE)


def matches(file: InputFile) -> bool:
    """Whether the text has template actions and is no YAML before they are run."""
    if file.suffix not in SUFFIXES or not SERVER.search(file.text):
        return False
    return ACTION.search(file.text) is not None and bool(compose(file)[1])


def read(file: InputFile) -> ParsedFile:
    """No engine, and what to do instead."""
    action = ACTION.search(file.text)
    line = file.text.count("\n", 0, action.start() if action else 0) + 1
    message = "is a Helm template; give sched-reader the values, or what `helm template` prints"
    return ParsedFile(file.path, FORM, (), (Problem(message, file.origin(line)),))
