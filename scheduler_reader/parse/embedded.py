"""YAML or a script inside a scalar of a YAML file, as an input of its own with its true places."""

from __future__ import annotations

import yaml

from scheduler_reader.parse.excerpt import Excerpt, excerpt
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.yaml_nodes import place


def embedded(node: yaml.Node, file: InputFile) -> Excerpt:
    """The text of a scalar (block, folded or quoted); lines and columns are the outer file's."""
    origin = place(node, file)
    text = node.value if isinstance(node.value, str) else ""
    return excerpt(file, text, origin.line or 1, origin.column or 1)
