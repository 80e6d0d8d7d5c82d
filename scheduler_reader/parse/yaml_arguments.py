"""Arguments that a YAML form holds as data: lists of words, maps of options, environments.

Values are the text that a tool writes when it prints them.  `$(NAME)` has the value of the same
environment, as in a Kubernetes container; a template's `{{ }}` and `${…}` are never evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import yaml

from scheduler_reader.parse.expand import Piece, Text, expand, joined
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ConfigEntry, Word
from scheduler_reader.parse.yaml_nodes import Entry, child, entries, items, place, value_of
from scheduler_reader.value import Known, Unknown, Value

SUBSTITUTION = re.compile(r"\$\{[A-Za-z_][^{}]*\}")  # of envsubst, Terraform and the like

GIVEN_AT_START = "has no value in the file; it is given at start"

Environment = Mapping[str, Value[str]]


def text_of(node: yaml.Node) -> str:
    """A value as text: scalars as they are written, anything else as JSON."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    return json.dumps(value_of(node), default=str, ensure_ascii=False)


def plain_text(node: yaml.Node | None) -> str | None:
    """The text of a scalar; None when there is none, or it is empty or null."""
    if not isinstance(node, yaml.ScalarNode) or value_of(node) is None:
        return None
    return str(node.value).strip() or None


def is_true(node: yaml.Node | None) -> bool:
    """Whether a template's `if` takes the value for true: not false, null, zero or empty."""
    return node is not None and bool(value_of(node))


def word(node: yaml.Node, file: InputFile, env: Environment | None = None) -> Word:
    """A value as one word of a command line."""
    return text_word(text_of(node), node, file, env)


def text_word(text: str, node: yaml.Node, file: InputFile, env: Environment | None = None) -> Word:
    """A text that stands at a node as one word, its references looked up."""
    whole, unknown = joined(expand(text, lambda name: _lookup(env or {}, name), "kubernetes"))
    substituted = SUBSTITUTION.search(whole)
    if unknown is None and substituted is not None:
        unknown = f"{substituted[0]} is replaced before the file is used"
    return Word(whole, place(node, file), unknown)


def words(
    node: yaml.Node | None, file: InputFile, env: Environment | None = None
) -> tuple[Word, ...]:
    """The items of a list as words; empty for anything else."""
    return tuple(word(item, file, env) for item in items(node))


def option(name: str, entry: Entry, file: InputFile) -> tuple[Word, Word]:
    """`--name VALUE` of a map's entry, both at their places."""
    return Word(f"--{name}", place(entry.key_node, file)), word(entry.node, file)


def keywords(node: yaml.Node | None, file: InputFile) -> tuple[ConfigEntry, ...]:
    """The entries of a map as arguments by name; of keys that stand there twice the last."""
    found: dict[str, ConfigEntry] = {}
    for entry in entries(node):
        text = word(entry.node, file)
        found.pop(entry.key, None)
        found[entry.key] = ConfigEntry(
            entry.key, value_of(entry.node), place(entry.key_node, file), text.unknown
        )
    return tuple(found.values())


def environment(node: yaml.Node | None, file: InputFile) -> dict[str, Value[str]]:
    """An environment: a map, or a list of `name` and `value`, or of `NAME=value`."""
    env: dict[str, Value[str]] = {}
    if isinstance(node, yaml.MappingNode):
        for entry in entries(node):
            env[entry.key] = _value(entry.node, file, env)
    for item in items(node):
        if isinstance(item, yaml.ScalarNode):
            env |= _assigned(item, file, env)
        name = plain_text(child(item, "name"))
        if name is None:
            continue
        value = child(item, "value")
        source = child(item, "valueFrom")
        if source is not None:
            env[name] = Unknown(_source(source), place(item, file))
        elif value is None:
            env[name] = Known("", place(item, file))
        else:
            env[name] = _value(value, file, env)
    return env


def _assigned(node: yaml.ScalarNode, file: InputFile, env: Environment) -> dict[str, Value[str]]:
    name, equals, text = str(node.value).partition("=")
    if not equals:
        return {name.strip(): Unknown(GIVEN_AT_START, place(node, file))}
    value = text_word(text, node, file, env)
    known = (
        Unknown(value.unknown, value.origin) if value.unknown else Known(value.text, value.origin)
    )
    return {name.strip(): known}


def _value(node: yaml.Node, file: InputFile, env: Environment) -> Value[str]:
    if isinstance(node, yaml.ScalarNode) and value_of(node) is None:
        return Unknown(GIVEN_AT_START, place(node, file))
    text = word(node, file, env)
    return Unknown(text.unknown, text.origin) if text.unknown else Known(text.text, text.origin)


def _source(node: yaml.Node) -> str:
    """`fieldRef status.podIP`, `secretKeyRef token of hf-secret`."""
    for entry in entries(node):
        field = plain_text(child(entry.node, "fieldPath")) or plain_text(child(entry.node, "key"))
        owner = plain_text(child(entry.node, "name"))
        return " ".join(filter(None, (entry.key, field, f"of {owner}" if owner else None)))
    return "comes from elsewhere"


def _lookup(env: Environment, name: str) -> Text | None:
    value = env.get(name)
    if value is None:
        return None
    if isinstance(value, Unknown):
        return (Piece(f"$({name})", f"${name}: {value.reason}"),)
    return (Piece(value.value),)
