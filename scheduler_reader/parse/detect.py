"""Which form an input has: the modules of `parse/forms/` are asked in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from scheduler_reader.errors import InputError
from scheduler_reader.parse import forms
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile


class Form(Protocol):
    """What every module of `parse/forms/` has."""

    FORM: str

    def matches(self, file: InputFile) -> bool: ...

    def read(self, file: InputFile) -> ParsedFile: ...


def all_forms() -> Iterator[Form]:
    """The forms there are, each imported only when those before it did not match."""
    for name in sorted(module.name for module in iter_modules(forms.__path__)):
        yield cast(Form, import_module(f"{forms.__name__}.{name}"))


def read_form(file: InputFile) -> ParsedFile:
    """Parse an input as the first form that it matches.

    Raises `InputError` when it matches none; a YAML file that is broken is told so.
    """
    for form in all_forms():
        if form.matches(file):
            return form.read(file)
    if file.suffix in {".yaml", ".yml", ""}:
        from scheduler_reader.parse.yaml_nodes import compose

        _, problems = compose(file)
        if problems:
            return ParsedFile(file.path, None, (), tuple(problems))
    raise InputError(
        "no vLLM configuration that sched-reader knows; it reads `vllm serve` commands and scripts, "
        "--config YAML files and deployment files",
        file.origin(),
    )
