"""The services of a compose file → engines.

`${X:-8}` is 8; a variable without a default comes from the environment or from `.env`, which are
not read.  `$$X` is the container's own `$X`.  Source: compose-spec (interpolation, services).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from scheduler_reader.parse.command_words import split_command
from scheduler_reader.parse.compose_deployment import compose_deployment
from scheduler_reader.parse.compose_services import Service, services_of
from scheduler_reader.parse.container import Container
from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.expand import Piece, Text, expand, joined
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.placeholders import Placeholders
from scheduler_reader.parse.serve_command import called_script
from scheduler_reader.parse.shell_engines import engines_or_problem
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_nodes import compose, items, place
from scheduler_reader.value import Known, Unknown, Value


def read_compose(file: InputFile, form: str) -> ParsedFile:
    """The engines of the services, in every profile."""
    documents, problems = compose(file)
    reader = _Reader(file, form)
    engines: list[ParsedEngine] = []
    for document in documents:
        services, wrong = services_of(document, file)
        problems += wrong
        for service in services:
            engines += reader.engines(service)
    problems += reader.problems
    if not engines and not problems:
        problems.append(Problem("no service in it is seen to start vLLM", file.origin(1)))
    return ParsedFile(file.path, form, tuple(engines), tuple(problems))


@dataclass(slots=True)
class _Reader:
    file: InputFile
    form: str
    placeholders: Placeholders = field(default_factory=Placeholders)
    problems: list[Problem] = field(default_factory=list)

    def engines(self, service: Service) -> list[ParsedEngine]:
        """The engines of a service; one that is only built says nothing of what it runs."""
        if service.get("build") and not (service.get("command") or service.get("entrypoint")):
            return []
        container = self._container(service)
        engines, problems = engines_or_problem(container, self.file, self.placeholders)
        self.problems += problems
        return engines

    def _container(self, service: Service) -> Container:
        image = service.get("image")
        entrypoint = service.get("entrypoint")
        program = None if entrypoint is None else self._command(entrypoint)
        arguments = self._command(service.get("command"))
        if called_script((*(program or ()), *arguments)) is None:
            program = tuple(map(self._unexpanded, program)) if program else program
            arguments = tuple(map(self._unexpanded, arguments))
        return Container(
            self.form,
            place(service.node, self.file),
            name=service.name,
            image=None if image is None else self._plain(image),
            program=program,
            arguments=arguments,
            env=self._environment(service),
            deployment=compose_deployment(service, self._plain, self.file),
        )

    def _command(self, node: yaml.Node | None) -> tuple[Word, ...]:
        """A list as it is, a string cut into words after its references are replaced."""
        if not isinstance(node, yaml.ScalarNode):
            return tuple(
                Word(self._hidden(str(item.value)), place(item, self.file))
                for item in items(node)
                if isinstance(item, yaml.ScalarNode)
            )
        if node.tag == "tag:yaml.org,2002:null":
            return ()
        text = self._hidden(str(node.value))
        words = split_command(text)
        start = place(node, self.file)
        if words is None:
            message = "a quote in this command never closes"
            self.problems.append(Problem(message, start))
            return (Word(self.placeholders.hide((Piece(text, message),)), start),)
        inner = excerpt(self.file, text, start.line or 1, start.column or 1)
        found = []
        for word, offset in words:
            origin = inner.place(offset)
            option = word.lstrip()
            if word != option and option.startswith("-"):
                message = f"the backslash before {option!r} makes a blank part of it; drop it"
                self.problems.append(Problem(message, origin))
            found.append(Word(option if option.startswith("-") else word, origin))
        return tuple(found)

    def _environment(self, service: Service) -> dict[str, Value[str]]:
        env: dict[str, Value[str]] = {}
        for name, node, text in service.environment():
            origin = place(node, self.file)
            if text is None:
                env[name] = Unknown(f"${name} is passed through from the host", origin)
                continue
            whole, unknown = joined(self._interpolated(text))
            env[name] = Unknown(unknown, origin) if unknown else Known(whole, origin)
        return env

    def _unexpanded(self, word: Word) -> Word:
        return self.placeholders.hide_unexpanded(word, "is not expanded: no shell runs here")

    def _plain(self, node: yaml.Node) -> Word:
        text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        whole, unknown = joined(self._interpolated(text))
        return Word(whole, place(node, self.file), unknown)

    def _hidden(self, text: str) -> str:
        return self.placeholders.hide(self._interpolated(text))

    def _interpolated(self, text: str) -> Text:
        return expand(text, lambda _: None, "compose")
