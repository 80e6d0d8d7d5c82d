"""The YAML file of `vllm serve --config FILE`: argument names as keys."""

from __future__ import annotations

import yaml

from scheduler_reader.knowledge.flags import lifetime
from scheduler_reader.parse.expand import TEMPLATE
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, ParsedFile
from scheduler_reader.parse.yaml_nodes import compose, duplicate_keys, entries, place, value_of

FORM = "config-yaml"
FOREIGN_KEYS = frozenset(
    {"apiVersion", "kind", "services", "jobs", "resources", "spec", "backend", "engine_args"}
)


def matches(file: InputFile) -> bool:
    """Whether the text is one YAML mapping of which at least half the keys are vLLM arguments."""
    if file.suffix not in {".yaml", ".yml", ""}:
        return False
    documents, _ = compose(file)
    if len(documents) != 1:
        return False
    keys = [entry.key for entry in entries(documents[0])]
    if not keys or FOREIGN_KEYS.intersection(keys):
        return False
    return 2 * sum(map(_is_argument, keys)) >= len(keys)


def read(file: InputFile) -> ParsedFile:
    """One engine with the entries of the mapping."""
    documents, problems = compose(file)
    if not documents or not isinstance(documents[0], yaml.MappingNode):
        return ParsedFile(file.path, FORM, (), tuple(problems))
    engine = ParsedEngine(FORM, file.origin(1), config=config_entries(documents[0], file))
    problems += duplicate_keys(documents[0], file)
    return ParsedFile(file.path, FORM, (engine,), tuple(problems))


def config_entries(node: yaml.Node, file: InputFile) -> tuple[ConfigEntry, ...]:
    """The entries of a `--config` mapping; of keys that stand there twice the last."""
    found: dict[str, ConfigEntry] = {}
    for entry in entries(node):
        value = value_of(entry.node)
        template = TEMPLATE.search(value) if isinstance(value, str) else None
        unknown = f"template {template[0]}" if template else None
        found.pop(entry.key, None)
        found[entry.key] = ConfigEntry(entry.key, value, place(entry.key_node, file), unknown)
    return tuple(found.values())


def _is_argument(key: str) -> bool:
    option = "--" + key.replace("_", "-").partition(".")[0]
    return any(map(lifetime, (option, option.replace("--no-", "--", 1))))
