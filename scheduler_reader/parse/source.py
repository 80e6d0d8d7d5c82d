"""What a file says: engines with their arguments, environment and image, each with its place.

This is the output of the parse stage.  Nothing here depends on a vLLM release: an engine keeps
its arguments as they are written, and `arguments.read_arguments` reads them as one release does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Unknown, Value

PARSE_ERROR = "*parse_error"  # in `unresolved` of an engine whose file is broken
MARK = "sched-reader"  # begins a remark, and is part of the annotation's name
REFERENCE = re.compile(r"\$[\w{(]|\{\{")
Entrypoint = Literal["serve", "api_server", "llm", "dynamo"]


class Word(Record):
    """One argument of a command line.

    `text` is what stands there; where part of it comes from elsewhere (`--port=$PORT`), the text
    has the reference as written and `unknown` says why it cannot be resolved.
    """

    text: str
    origin: Origin
    unknown: str | None = None


class ConfigEntry(Record):
    """One `key: value` of a `--config` YAML file or a keyword argument, as YAML read the value."""

    key: str
    value: Any
    origin: Origin
    unknown: str | None = None


class Problem(Record):
    """Something in a file that was not understood, or is wrong whatever the vLLM release."""

    message: str
    origin: Origin


class Remark(Record):
    """A comment or annotation that speaks to sched-reader, for `gate/`.

    `text` is what follows `sched-reader:`, or the annotation's value.  It is about what stands in
    `line`, and about an engine that starts in the lines `first` to `last`.
    """

    kind: Literal["comment", "annotation"]
    text: str
    origin: Origin
    line: int
    first: int
    last: int


class ParsedEngine(Record):
    """One vLLM engine found in a file.

    `words` are the arguments after `vllm serve` in order; `config` the entries of its `--config`
    file (vLLM puts them before the command line, which wins).  `implied` are arguments that a
    chart or operator adds by itself.  `deployment` is what a deployment file says about its place.
    """

    form: str
    origin: Origin
    name: str | None = None
    entrypoint: Entrypoint = "serve"
    words: tuple[Word, ...] = ()
    config: tuple[ConfigEntry, ...] = ()
    keywords: tuple[ConfigEntry, ...] = ()
    implied: tuple[Word, ...] = ()
    env: Mapping[str, Value[str]] = {}
    image_version: Value[str] | None = None
    unresolved: Mapping[str, str] = {}
    deployment: Deployment | None = None
    beside: tuple[ParsedEngine, ...] = ()  # engines of the file that run on its host at its time

    @property
    def is_unreadable(self) -> bool:
        """Whether nothing is known of the engine, because its file is broken."""
        return PARSE_ERROR in self.unresolved

    def variable(self, name: str) -> Value[str] | None:
        """An environment variable of the engine's process; None: it is not set.

        Unknown also where a `$X` is left in it, which whoever starts the engine may replace.
        """
        value = self.env.get(name)
        if isinstance(value, Known) and REFERENCE.search(value.value):
            return Unknown(f"{name}={value.value} is not resolved where it stands", value.origin)
        if isinstance(value, Unknown) and name not in value.reason:
            return Unknown(f"{name}: {value.reason}", value.origin)
        return value


class ParsedFile(Record):
    """One input: its engines and what could not be understood, in file order."""

    path: str
    form: str | None
    engines: tuple[ParsedEngine, ...] = ()
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def readable(self) -> tuple[ParsedEngine, ...]:
        """The engines of which something is known."""
        return tuple(engine for engine in self.engines if not engine.is_unreadable)

    @property
    def why_none_is_readable(self) -> str:
        """One line for a file without a readable engine: what is wrong with it, and where."""
        for problem in self.problems:
            return f"{problem.origin.place or self.path}: {problem.message}"
        return f"{self.path}: no vLLM engine found; is this a vLLM configuration?"
