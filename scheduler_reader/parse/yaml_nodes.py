"""YAML with places: documents as nodes, so that every key and value has its line and column.

The text is composed by libyaml where PyYAML has it; values are read as PyYAML's safe loader reads
them (YAML 1.1: `on` is true, `010` is eight, `1e3` is text), because vLLM reads its files so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import Problem
from scheduler_reader.record import Record
from scheduler_reader.value import Origin

MAX_NODES = 200_000  # after aliases are followed
MAX_DEPTH = 200
MAX_DOCUMENTS = 1_000

TEMPLATE_ACTION = re.compile(
    r"\{\{-?\s*(?:if|else|range|with|include|template|define|toYaml|end)\b"
)

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAG = "tag:yaml.org,2002:str"
_SPECIAL_KEYS = frozenset({"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"})  # `<<` and `=`


class Entry(Record):
    """One `key: value` of a mapping."""

    key: str
    node: yaml.Node
    key_node: yaml.Node


def compose(file: InputFile) -> tuple[list[yaml.Node], list[Problem]]:
    """The documents of a YAML text that can be read, and what is wrong with the rest."""
    documents, problems = _composed(file)
    return list(documents), list(problems)


@lru_cache(maxsize=2)  # several forms look at a file before one reads it
def _composed(file: InputFile) -> tuple[list[yaml.Node], list[Problem]]:
    documents: list[yaml.Node] = []
    if _nests_too_deeply(file.text):
        return [], [Problem("is nested too deeply to be a configuration", file.origin(1))]
    loader = _Loader(file.text)
    try:
        while loader.check_node():
            node = loader.get_node()
            problem = _oversize(node, file)
            if problem is not None:
                return documents, [problem]
            if len(documents) == MAX_DOCUMENTS:
                message = f"has more than {MAX_DOCUMENTS:,} documents; split the file"
                return documents, [Problem(message, place(node, file))]
            documents.append(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return documents, [_syntax_problem(error, file)]
    finally:
        loader.dispose()
    return documents, []


def value_of(node: yaml.Node) -> Any:
    """The Python value of a node; text that its type refuses (`2024-99-99`) stays text."""
    if node.tag == _TEXT_TAG and isinstance(node, yaml.ScalarNode):
        return node.value
    try:
        return yaml.constructor.SafeConstructor().construct_document(node)
    except (yaml.YAMLError, ValueError, OverflowError, TypeError):
        return node.value if isinstance(node.value, str) else None


def entries(node: yaml.Node | None) -> Iterator[Entry]:
    """The entries of a mapping in order, merge keys (`<<`) followed; nothing for other nodes.

    A key that is a list or a mapping names nothing, and is passed over.
    """
    if not isinstance(node, yaml.MappingNode):
        return
    if any(key_node.tag in _SPECIAL_KEYS for key_node, _ in node.value):
        _merge(node)
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            continue
        key = value_of(key_node)
        yield Entry(key if isinstance(key, str) else str(key_node.value), value_node, key_node)


def _merge(node: yaml.MappingNode) -> None:
    """Put what `<<` names before a mapping's own entries, which replace what they repeat."""
    own = {key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
    count = sum(key.tag not in _SPECIAL_KEYS for key, _ in node.value)
    with suppress(yaml.YAMLError):
        yaml.constructor.SafeConstructor().flatten_mapping(node)
        merged = node.value[: len(node.value) - count]
        latest = {key.value: index for index, (key, _) in enumerate(merged) if _is_text(key)}
        kept = [
            pair
            for index, pair in enumerate(merged)
            if not _is_text(pair[0])
            or (pair[0].value not in own and latest[pair[0].value] == index)
        ]
        node.value = kept + node.value[len(merged) :]


def _is_text(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)


def child(node: yaml.Node | None, *path: str) -> yaml.Node | None:
    """The node below a path of keys, or None; the last of equal keys, after those merged in."""
    for key in path:
        if node is None:
            return None
        found = [entry.node for entry in entries(node) if entry.key == key]
        node = found[-1] if found else None
    return node


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a sequence node; nothing for other nodes."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def place(node: yaml.Node, file: InputFile) -> Origin:
    """Where a node starts."""
    return file.origin(node.start_mark.line + 1, node.start_mark.column + 1)


def duplicate_keys(node: yaml.Node, file: InputFile) -> list[Problem]:
    """A problem for every key of a mapping that stands there twice; the last one wins."""
    seen: dict[str, Entry] = {}
    problems = []
    for entry in entries(node):
        if entry.key in seen:
            first = seen[entry.key].key_node.start_mark.line + 1
            message = f"key {entry.key!r} stands here again (first in line {first}); the last wins"
            problems.append(Problem(message, place(entry.key_node, file)))
        seen[entry.key] = entry
    return problems


def _nests_too_deeply(text: str) -> bool:
    """Whether brackets open deeper than any configuration; libyaml would recurse into them."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest > MAX_DEPTH


def _oversize(node: yaml.Node, file: InputFile) -> Problem | None:
    """Aliases of aliases multiply: count the nodes as if each alias were written out."""
    sizes: dict[int, int] = {}
    in_progress: set[int] = set()

    def size(current: yaml.Node) -> int:
        key = id(current)
        if key in in_progress:
            raise RecursionError
        if key not in sizes:
            in_progress.add(key)
            total = 1
            for part in current.value if not isinstance(current, yaml.ScalarNode) else ():
                total += sum(map(size, part)) if isinstance(part, tuple) else size(part)
            in_progress.discard(key)
            sizes[key] = total
        return sizes[key]

    try:
        total = size(node)
    except RecursionError:
        return Problem("contains itself by an alias; vLLM cannot read it", place(node, file))
    if total > MAX_NODES:
        return Problem(
            f"holds {total:,} values, aliases written out; no configuration does", place(node, file)
        )
    return None


def _syntax_problem(error: Exception, file: InputFile) -> Problem:
    action = TEMPLATE_ACTION.search(file.text)
    if action is not None:
        line = file.text.count("\n", 0, action.start()) + 1
        message = "is a Helm template; give sched-reader the values, or what `helm template` prints"
        return Problem(message, file.origin(line))
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return Problem(
            f"is not valid YAML: {error.problem}; correct the line",
            file.origin(mark.line + 1, mark.column + 1),
        )
    reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
    return Problem(f"is not valid YAML: {reason}", file.origin(1))
