"""The stages of a Dockerfile → the container that its image is.

Only the last stage counts, with the stages it is built from.  Source: Dockerfile reference
(FROM, ARG, ENV, ENTRYPOINT and CMD in exec and shell form).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from scheduler_reader.parse.command_words import split_command
from scheduler_reader.parse.container import Container, not_understood
from scheduler_reader.parse.dockerfile_text import Instruction, instructions
from scheduler_reader.parse.excerpt import Excerpt, excerpt
from scheduler_reader.parse.expand import Piece, Text, expand, joined
from scheduler_reader.parse.image_version import known_release, release_of_requirement
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.placeholders import REFERENCE
from scheduler_reader.parse.shell_engines import engines_in_container
from scheduler_reader.parse.source import ParsedFile, Problem, Word
from scheduler_reader.value import Known, Origin, Unknown, Value

STAGE = re.compile(r"(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*", re.IGNORECASE)


def read_dockerfile(file: InputFile, form: str) -> ParsedFile:
    """The engine that the last stage starts."""
    build = _Build(file)
    for instruction in instructions(file):
        build.take(instruction)
    container = build.container(form)
    engines = engines_in_container(container, file)
    if engines:
        installed = build.stage.version
        if installed is not None:
            engines = tuple(engine._replace(image_version=installed) for engine in engines)
        return ParsedFile(file.path, form, engines)
    problem = not_understood(container)
    if problem is None:
        problem = Problem("its last stage is not seen to start vLLM", file.origin(1))
    return ParsedFile(file.path, form, (), (problem,))


@dataclass(slots=True)
class _Stage:
    """What one build stage has set so far; `program` is None for the base image's own."""

    image: Word | None = None
    program: tuple[Word, ...] | None = None
    is_shell_form: bool = False
    arguments: tuple[Word, ...] = ()
    env: dict[str, Value[str]] = field(default_factory=dict)
    version: Known[str] | None = None


@dataclass(slots=True)
class _Build:
    file: InputFile
    stage: _Stage = field(default_factory=_Stage)
    named: dict[str, _Stage] = field(default_factory=dict)
    global_arguments: dict[str, Text] = field(default_factory=dict)
    arguments: dict[str, Text] = field(default_factory=dict)
    has_from: bool = False
    count: int = 0

    def take(self, instruction: Instruction) -> None:
        """Apply one instruction."""
        keyword = instruction.keyword
        if keyword == "FROM":
            self._from(instruction)
        elif keyword == "ARG":
            self._arg(instruction)
        elif keyword == "ENV":
            self._env(instruction)
        elif keyword == "RUN":
            release = release_of_requirement(self._expanded(instruction.text)[0])
            self.stage.version = (
                known_release(release, self._origin(instruction)) or self.stage.version
            )
        elif keyword == "ENTRYPOINT":
            self.stage.program, self.stage.is_shell_form = self._command(instruction)
            self.stage.arguments = ()
        elif keyword == "CMD":
            self.stage.arguments, _ = self._command(instruction)

    def container(self, form: str) -> Container:
        """What the image runs, after the last instruction."""
        stage = self.stage
        place = stage.image.origin if stage.image else self.file.origin(1)
        return Container(
            form,
            place,
            image=stage.image,
            program=stage.program or None,
            arguments=() if stage.is_shell_form else stage.arguments,
            env=stage.env,
        )

    def _from(self, instruction: Instruction) -> None:
        match = STAGE.match(instruction.text.replace("\\\n", " "))
        if match is None:
            return
        image, unknown = joined(expand(match[1], self.global_arguments.get, "shell"))
        origin = self._origin(instruction)
        base = self.named.get(image.lower())
        self.stage = replace(base) if base else _Stage(Word(image, origin, unknown))
        self.stage.env = dict(self.stage.env)
        self.named[str(self.count)] = self.stage
        if match[2]:
            self.named[match[2].lower()] = self.stage
        self.count += 1
        self.has_from = True
        self.arguments = {}

    def _arg(self, instruction: Instruction) -> None:
        for text, _ in split_command(instruction.text) or ():
            name, equals, value = text.partition("=")
            given = expand(value, self._lookup, "shell") if equals else None
            if not self.has_from:
                unset = (Piece(f"${name}", f"${name} is given when the image is built"),)
                self.global_arguments[name] = given or unset
            else:
                inherited = self.global_arguments.get(name)
                unset = (Piece(f"${name}", f"${name} is given when the image is built"),)
                self.arguments[name] = given or inherited or unset

    def _env(self, instruction: Instruction) -> None:
        origin = self._origin(instruction)
        words = split_command(instruction.text) or []
        if words and "=" not in words[0][0]:
            name, _, value = instruction.text.partition(" ")
            words = [(f"{name}={value.strip()}", 0)]
        inner = self._inner(instruction)
        before = dict(self.stage.env)
        for text, offset in words:
            name, _, value = text.partition("=")
            whole, unknown = joined(expand(value, lambda key: self._lookup(key, before), "shell"))
            origin = inner.place(offset)
            self.stage.env[name] = Unknown(unknown, origin) if unknown else Known(whole, origin)

    def _command(self, instruction: Instruction) -> tuple[tuple[Word, ...], bool]:
        """The words of an exec form, or `/bin/sh -c TEXT` for the shell form."""
        text = instruction.text.replace("\\\n", " ")
        inner = self._inner(instruction)
        if text.lstrip().startswith("["):
            try:
                parsed = json.loads(text)
            except ValueError:
                parsed = None
            if isinstance(parsed, list) and all(isinstance(part, str) for part in parsed):
                return tuple(_placed(parsed, instruction.text, inner)), False
        origin = inner.place(0)
        shell = (Word("/bin/sh", origin), Word("-c", origin))
        return (*shell, Word(instruction.text.strip(), origin)), True

    def _inner(self, instruction: Instruction) -> Excerpt:
        return excerpt(self.file, instruction.text, instruction.line, instruction.column)

    def _expanded(self, text: str) -> tuple[str, str | None]:
        return joined(expand(text, self._lookup, "shell"))

    def _lookup(self, name: str, env: dict[str, Value[str]] | None = None) -> Text | None:
        value = (self.stage.env if env is None else env).get(name)
        if isinstance(value, Unknown):
            return (Piece(f"${name}", value.reason),)
        if value is not None:
            return (Piece(value.value),)
        return self.arguments.get(name) if self.has_from else self.global_arguments.get(name)

    def _origin(self, instruction: Instruction) -> Origin:
        return self.file.origin(instruction.line, instruction.column)


def _placed(parts: list[str], text: str, inner: Excerpt) -> Iterator[Word]:
    """The strings of an exec form, each where it stands; nothing in them is expanded."""
    position = 0
    for part in parts:
        found = text.find(json.dumps(part, ensure_ascii=False), position)
        position = found if found >= 0 else position
        origin = inner.place(position)
        reference = REFERENCE.search(part)
        unknown = f"{reference[0]} is not expanded in the exec form" if reference else None
        yield Word(part, origin, unknown)
        position += len(part)
