"""systemd units: services that start vLLM, and Quadlet's `.container` files.

Source: systemd.service(5) (`ExecStart=`), systemd.exec(5) (`Environment=`), podman-systemd.unit(5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from scheduler_reader.parse.container import Container
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.expand import Piece
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.placeholders import Placeholders
from scheduler_reader.parse.quantity import docker_bytes
from scheduler_reader.parse.shell_engines import engines_or_problem
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.unit_file import (
    VARIABLE,
    Setting,
    settings_of,
    unit_words,
    without_specifiers,
)
from scheduler_reader.value import Known, Unknown, Value

FORM = "systemd"
SUFFIXES = frozenset({".service", ".container", ".conf", ""})
SECTION = re.compile(r"^\[(?:Service|Container)\]\s*$", re.MULTILINE)
PREFIXES = "@-:+!|"


def matches(file: InputFile) -> bool:
    """Whether a text is a unit file with a service or a container, and names vLLM."""
    return (
        file.suffix in SUFFIXES
        and "vllm" in file.text.lower()
        and SECTION.search(file.text) is not None
    )


def read(file: InputFile) -> ParsedFile:
    """The engines that `ExecStart=` starts, or the container of a Quadlet file."""
    unit = _Unit(file, settings_of(file))
    engines = unit.engines()
    problems = unit.problems
    if not engines and not problems:
        problems.append(Problem("no ExecStart= in it is seen to start vLLM", file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


@dataclass(slots=True)
class _Unit:
    file: InputFile
    settings: list[Setting]
    placeholders: Placeholders = field(default_factory=Placeholders)
    problems: list[Problem] = field(default_factory=list)

    def engines(self) -> list[ParsedEngine]:
        containers = [self._quadlet()] if self._all("Container", "Image") else self._services()
        engines = []
        for container in containers:
            found, problems = engines_or_problem(container, self.file, self.placeholders)
            engines += found
            self.problems += problems
        return engines

    def _services(self) -> list[Container]:
        env = self._environment("Service")
        commands: list[Setting] = []
        for setting in self._all("Service", "ExecStart"):
            commands = [*commands, setting] if setting.value else []
        return [
            Container(
                FORM,
                self.file.origin(setting.line, setting.column),
                program=self._command(setting, env),
                env=env,
            )
            for setting in commands
        ]

    def _quadlet(self) -> Container:
        image = self._all("Container", "Image")[-1]
        env = self._environment("Container")
        entrypoint = self._all("Container", "Entrypoint")
        arguments = self._all("Container", "Exec")
        size = self._all("Container", "ShmSize")
        place = self.file.origin(image.line, image.column)
        return Container(
            FORM,
            place,
            image=Word(image.value, place),
            program=self._command(entrypoint[-1], {}) if entrypoint else None,
            arguments=self._command(arguments[-1], {}) if arguments else (),
            env=env,
            deployment=Deployment(
                shared_memory_bytes=docker_bytes(Word(size[-1].value, place)) if size else None
            ),
        )

    def _all(self, section: str, key: str) -> list[Setting]:
        return [found for found in self.settings if (found.section, found.key) == (section, key)]

    def _environment(self, section: str) -> dict[str, Value[str]]:
        env: dict[str, Value[str]] = {}
        for setting in self._all(section, "Environment"):
            if not setting.value:
                env = {}
            for word in self._words(setting):
                name, equals, _ = word.text.partition("=")
                text, unknown = self.placeholders.shown(word.text.partition("=")[2])
                if equals:
                    env[name] = (
                        Unknown(unknown, word.origin) if unknown else Known(text, word.origin)
                    )
        for setting in self._all(section, "PassEnvironment"):
            for word in self._words(setting):
                reason = f"${word.text} is passed on from the system manager"
                env[word.text] = Unknown(reason, word.origin)
        return env

    def _words(self, setting: Setting) -> list[Word]:
        text = without_specifiers(setting.value, self._specifier)
        inner = excerpt(self.file, text, setting.line, setting.column)
        return [Word(word, inner.place(offset)) for word, offset in unit_words(text)]

    def _command(self, setting: Setting, env: dict[str, Value[str]]) -> tuple[Word, ...]:
        """The words of a command: `${X}` is one word, a lone `$X` is cut at its blanks."""
        words = self._words(setting)
        if words and setting.key == "ExecStart":
            words[0] = words[0]._replace(text=words[0].text.lstrip(PREFIXES))
        expanded: list[Word] = []
        for word in words:
            lone = VARIABLE.fullmatch(word.text)
            value = env.get(lone[2]) if lone and lone[2] else None
            if isinstance(value, Known):
                expanded += [Word(part, word.origin) for part in value.value.split()]
            else:
                expanded.append(word._replace(text=self._expanded(word.text, env)))
        return tuple(expanded)

    def _expanded(self, text: str, env: dict[str, Value[str]]) -> str:
        pieces: list[Piece] = []
        for index, part in enumerate(text.split("$$")):
            pieces += [Piece("$")] if index else []
            pieces += self._pieces(part, env)
        return self.placeholders.hide(tuple(pieces))

    def _pieces(self, text: str, env: dict[str, Value[str]]) -> list[Piece]:
        pieces: list[Piece] = []
        start = 0
        for match in VARIABLE.finditer(text):
            name = match[1] or match[2]
            value = env.get(name)
            pieces.append(Piece(text[start : match.start()]))
            if isinstance(value, Known):
                pieces.append(Piece(value.value))
            else:
                pieces.append(Piece(match[0], self._reason(name, value)))
            start = match.end()
        return [*pieces, Piece(text[start:])]

    def _reason(self, name: str, value: Unknown | None) -> str:
        if value is not None:
            return value.reason
        files = self._all("Service", "EnvironmentFile")
        if files:
            return f"${name} comes from {files[-1].value.lstrip('-')}, which is not read"
        return f"${name} is not set in the file"

    def _specifier(self, text: str) -> str:
        return self.placeholders.hide((Piece(text, f"{text} is filled in by systemd"),))
