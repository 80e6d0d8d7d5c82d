"""The containers of a Kubernetes pod template, with the variables each of them gets.

Source: the Kubernetes API reference (Container v1, EnvVar v1) and its `$(NAME)` expansion: only
variables of the same container count, and only in `command`, `args` and later variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from scheduler_reader.parse.container import Container
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.expand import Piece, Text, expand
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.placeholders import REFERENCE, Placeholders
from scheduler_reader.parse.pod_deployment import pod_deployment
from scheduler_reader.parse.serve_command import called_script
from scheduler_reader.parse.shell_engines import engines_or_problem
from scheduler_reader.parse.source import ParsedEngine, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, plain_text
from scheduler_reader.parse.yaml_nodes import Entry, child, entries, items, place
from scheduler_reader.value import Known, Unknown, Value

ConfigMaps = Mapping[str, Mapping[str, Value[str]]]  # name → key → text


@dataclass(slots=True)
class PodReader:
    """Reads the pods of one file; `config_maps` are those the file holds."""

    file: InputFile
    form: str
    config_maps: ConfigMaps = field(default_factory=dict)
    placeholders: Placeholders = field(default_factory=Placeholders)
    problems: list[Problem] = field(default_factory=list)

    def engines(self, pod_spec: yaml.Node, replicas: yaml.Node | None) -> list[ParsedEngine]:
        """The engines in the containers of a pod spec.

        A container that could hold one and is not understood becomes a problem.
        """
        found = []
        for node in items(child(pod_spec, "containers")):
            surroundings = pod_deployment(pod_spec, node, replicas, self.file)
            found += self.container_engines(self.container(node, surroundings))
        return found

    def container_engines(self, container: Container) -> list[ParsedEngine]:
        engines, problems = engines_or_problem(container, self.file, self.placeholders)
        self.problems += problems
        return engines

    def container(self, node: yaml.Node, deployment: Deployment | None = None) -> Container:
        """A container's program and arguments, references replaced as Kubernetes does."""
        env = self.environment(node)
        image = child(node, "image")
        command = child(node, "command")
        program = self._words(command, env) if items(command) else None
        arguments = self._words(child(node, "args"), env)
        if called_script((*(program or ()), *arguments)) is None:
            program = tuple(map(self._unexpanded, program)) if program else None
            arguments = tuple(map(self._unexpanded, arguments))
        return Container(
            self.form,
            place(node, self.file),
            name=plain_text(child(node, "name")),
            image=self._image(image) if image is not None else None,
            program=program,
            arguments=arguments,
            env=env,
            deployment=deployment,
        )

    def environment(self, node: yaml.Node) -> dict[str, Value[str]]:
        """`envFrom` and `env` of a container, ConfigMaps of the same file followed."""
        env: dict[str, Value[str]] = {}
        for source in items(child(node, "envFrom")):
            reference = child(source, "configMapRef", "name")
            prefix = plain_text(child(source, "prefix")) or ""
            for key, value in self.config_maps.get(plain_text(reference) or "", {}).items():
                env[prefix + key] = value
        own = environment(child(node, "env"), self.file)
        for item in items(child(node, "env")):
            reference = child(item, "valueFrom", "configMapKeyRef")
            config_map = self.config_maps.get(plain_text(child(reference, "name")) or "", {})
            name, wanted = plain_text(child(item, "name")), plain_text(child(reference, "key"))
            if name and wanted and wanted in config_map:
                own[name] = config_map[wanted]
        return env | {name: _with_substitutions(value) for name, value in own.items()}

    def _words(self, node: yaml.Node | None, env: Mapping[str, Value[str]]) -> tuple[Word, ...]:
        nodes = [node] if isinstance(node, yaml.ScalarNode) else items(node)
        return tuple(self._word(item, env) for item in nodes)

    def _word(self, node: yaml.Node, env: Mapping[str, Value[str]]) -> Word:
        text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        pieces = expand(text, lambda name: _lookup(env, name), "kubernetes")
        return Word(self.placeholders.hide(pieces), place(node, self.file))

    def _unexpanded(self, word: Word) -> Word:
        reason = "is not expanded by Kubernetes; it is replaced before the file is applied"
        return self.placeholders.hide_unexpanded(word, reason)

    def _image(self, node: yaml.Node) -> Word:
        text = plain_text(node) or ""
        unknown = f"{text} is filled in by a template" if "$" in text or "{{" in text else None
        return Word(text, place(node, self.file), unknown)


def config_map_data(node: yaml.Node, file: InputFile) -> dict[str, Value[str]]:
    """The `data` of a ConfigMap."""
    return {
        entry.key: Known(str(entry.node.value), place(entry.node, file))
        for entry in _entries(child(node, "data"))
        if isinstance(entry.node, yaml.ScalarNode)
    }


def _entries(node: yaml.Node | None) -> list[Entry]:
    return [] if node is None else list(entries(node))


def _lookup(env: Mapping[str, Value[str]], name: str) -> Text | None:
    """The value of `$(name)`; command substitution of a shell is left as it stands."""
    value = env.get(name)
    if isinstance(value, Unknown):
        return (Piece(f"$({name})", f"${name}: {value.reason}"),)
    if value is not None:
        return (Piece(value.value),)
    return (Piece(f"$({name})"),) if name != name.upper() else None


def _with_substitutions(value: Value[str]) -> Value[str]:
    """A value in which somebody wrote `$X`, to be replaced before the file is applied."""
    if isinstance(value, Unknown):
        return value
    match = REFERENCE.search(value.value)
    if match is None:
        return value
    return Unknown(f"{match[0]} is replaced before the file is applied", value.origin)
