"""Helm's templates themselves: text that only Helm turns into YAML, which is said and no more."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.parse.yaml_nodes import TEMPLATE_ACTION, compose

FORM = "helm-template"
SUFFIXES = (".yaml", ".yml", ".tpl")
SERVER = re.compile(r"vllm", re.IGNORECASE)


def matches(file: InputFile) -> bool:
    """Whether the text has template actions and is no YAML before they are run."""
    if file.suffix not in SUFFIXES or not SERVER.search(file.text):
        return False
    return TEMPLATE_ACTION.search(file.text) is not None and bool(compose(file)[1])


def read(file: InputFile) -> ParsedFile:
    """No engine, and what to do instead."""
    return ParsedFile(file.path, FORM, (), tuple(compose(file)[1]))
