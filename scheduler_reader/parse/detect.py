"""Which form an input has: the modules of `parse/forms/` are asked in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from scheduler_reader.errors import InputError
from scheduler_reader.parse import forms
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile

MAX_ENGINES = 1_000  # of one file


class Form(Protocol):
    """What every module of `parse/forms/` has."""

    FORM: str

    def matches(self, file: InputFile) -> bool: ...

    def read(self, file: InputFile) -> ParsedFile: ...


def all_forms() -> Iterator[Form]:
    """The forms there are, each imported only when those before it did not match."""
    for name in _form_names():
        yield cast(Form, import_module(f"{forms.__name__}.{name}"))


@cache
def _form_names() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in iter_modules(forms.__path__)))


def _limited(parsed: ParsedFile, file: InputFile) -> ParsedFile:
    if len(parsed.engines) > MAX_ENGINES:
        message = f"starts {len(parsed.engines):,} engines; more than {MAX_ENGINES:,} are not read"
        raise InputError(message, file.origin())
    return parsed


def read_form(file: InputFile) -> ParsedFile:
    """Parse an input as the first form that it matches.

    Raises `InputError` when it matches none; a YAML file that is broken is told so.
    """
    for form in all_forms():
        if form.matches(file):
            return _limited(form.read(file), file)
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
