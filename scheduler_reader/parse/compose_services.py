"""The services of a compose file, `extends` within the file followed.

Source: compose-spec (`extends`, merge rules): mappings merge, `command` and `entrypoint` of the
extending service replace those of the extended one.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import Problem
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, entries, items, place
from scheduler_reader.record import Record

MAX_EXTENDS = 10


class Service(Record):
    """One service; `layers` are its own mapping and those it extends, the strongest first."""

    name: str
    layers: tuple[yaml.Node, ...]

    @property
    def node(self) -> yaml.Node:
        return self.layers[0]

    def get(self, *path: str) -> yaml.Node | None:
        """The value below a path of keys, of the strongest layer that has it."""
        found = (child(layer, *path) for layer in self.layers)
        return next((node for node in found if node is not None), None)

    def environment(self) -> list[tuple[str, yaml.Node, str | None]]:
        """Name, node and text (None: passed through from the host) of each variable, weakest first."""
        return [
            variable
            for layer in reversed(self.layers)
            for variable in _environment(child(layer, "environment"))
        ]


def services_of(document: yaml.Node, file: InputFile) -> tuple[list[Service], list[Problem]]:
    """Every service of a document, and a problem where one extends another file's."""
    mapping = child(document, "services")
    nodes = {entry.key: entry.node for entry in entries(mapping)} if mapping is not None else {}
    services, problems = [], []
    for name, node in nodes.items():
        layers, problem = _layers(node, nodes, file)
        services.append(Service(name, layers))
        problems += [problem] if problem else []
    return services, problems


def _layers(
    node: yaml.Node, nodes: Mapping[str, yaml.Node], file: InputFile
) -> tuple[tuple[yaml.Node, ...], Problem | None]:
    layers = [node]
    while len(layers) < MAX_EXTENDS:
        extends = child(layers[-1], "extends")
        if extends is None:
            break
        elsewhere = child(extends, "file")
        name = plain_text(child(extends, "service")) or plain_text(extends)
        if elsewhere is not None:
            message = f"extends a service of {plain_text(elsewhere)}, which is not read"
            return tuple(layers), Problem(message, place(extends, file))
        if name is None or name not in nodes:
            message = f"extends {name!r}, which is no service of this file"
            return tuple(layers), Problem(message, place(extends, file))
        layers.append(nodes[name])
    return tuple(layers), None


def _environment(node: yaml.Node | None) -> list[tuple[str, yaml.Node, str | None]]:
    found: list[tuple[str, yaml.Node, str | None]] = []
    if isinstance(node, yaml.MappingNode):
        for entry in entries(node):
            is_null = entry.node.tag == "tag:yaml.org,2002:null"
            text = None if is_null else str(entry.node.value)
            found.append((entry.key, entry.node, text))
    for item in items(node):
        if isinstance(item, yaml.ScalarNode):
            name, equals, text = str(item.value).partition("=")
            found.append((name.strip(), item, text if equals else None))
    return found
