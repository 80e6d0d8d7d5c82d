"""Terraform and other HCL: containers in blocks, values of Helm releases, texts in here documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from scheduler_reader.errors import InputError
from scheduler_reader.parse.charts import modelservice, production_stack
from scheduler_reader.parse.container import Container
from scheduler_reader.parse.detect import read_form
from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.excerpt import Excerpt
from scheduler_reader.parse.hcl import HclDocument
from scheduler_reader.parse.home_grown import read_engines
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import environment, plain_text, words
from scheduler_reader.parse.yaml_nodes import child, entries, items, place

FORM = "terraform"
SUFFIXES = (".tf", ".hcl", ".tfvars", ".nomad", ".tofu")
SERVER = re.compile(
    r"vllm[\s\"',]+serve\b|vllm[./]entrypoints|vllm[\w-]*:[\w$]|vllm-openai|servingEngineSpec"
)
ECS_KEYS = ("entryPoint", "entrypoint", "essential", "portMappings", "environment")


class _Inner(Excerpt):
    """A text inside the file, whose form its content alone tells."""

    @property
    def suffix(self) -> str:
        return ""


def matches(file: InputFile) -> bool:
    """Whether the file is HCL with a command, an image or values of a vLLM server."""
    return file.suffix in SUFFIXES and SERVER.search(file.text) is not None


def read(file: InputFile) -> ParsedFile:
    """The engines of every block."""
    reader = _Reader(file, PodReader(file, FORM))
    root = HclDocument(file.text).root()
    engines = list(reader.engines(root)) or list(read_engines(root, file, FORM))
    problems = [*reader.problems, *reader.pods.problems]
    if not engines and not problems:
        mention = SERVER.search(file.text)
        line = file.text.count("\n", 0, mention.start() if mention else 0) + 1
        message = "names vLLM, but no command or values that start it are understood"
        problems.append(Problem(message, file.origin(line)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


@dataclass(slots=True)
class _Reader:
    file: InputFile
    pods: PodReader
    problems: list[Problem] = field(default_factory=list)

    def engines(self, node: yaml.Node) -> Iterator[ParsedEngine]:
        """The engines below a node."""
        if isinstance(node, yaml.ScalarNode):
            yield from self._in_text(node)
            return
        spec = child(node, production_stack.SPEC)
        if spec is not None or modelservice.roles_of(node):
            read_chart = production_stack.read_engines if spec else modelservice.read_engines
            found, problems = read_chart(spec or node, self.file, FORM)
            self.problems += problems
            yield from found
            return
        if child(node, "image") is not None and (child(node, "command") or child(node, "args")):
            yield from self.pods.container_engines(self._container(node))
            return
        for part in (*items(node), *(entry.node for entry in entries(node))):
            yield from self.engines(part)

    def _container(self, node: yaml.Node) -> Container:
        """A container of Kubernetes, or one of Docker and ECS, where `command` are arguments."""
        container = self.pods.container(node)
        if all(child(node, key) is None for key in ECS_KEYS):
            return container
        entrypoint = child(node, "entryPoint") or child(node, "entrypoint")
        program = words(entrypoint, self.file) if entrypoint is not None else None
        env = environment(child(node, "environment"), self.file)
        return container._replace(
            program=program,
            arguments=(*(container.program or ()), *container.arguments),
            env={**container.env, **env},
        )

    def _in_text(self, node: yaml.ScalarNode) -> Iterator[ParsedEngine]:
        """A manifest, values or a script that the file holds as text."""
        text = plain_text(node) or ""
        if "\n" not in text or "vllm" not in text.lower():
            return
        outer = embedded(node, self.file)
        inner = _Inner(outer.path, outer.text, outer.outer, outer.start)
        try:
            parsed = read_form(inner)
        except InputError:
            message = "the text names vLLM, but nothing in it that starts a server is understood"
            self.problems.append(Problem(message, place(node, self.file)))
            return
        self.problems += parsed.problems
        yield from (engine._replace(form=FORM) for engine in parsed.engines)
