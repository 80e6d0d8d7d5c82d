"""HCL (Terraform, Nomad) as the nodes of a YAML file, so that every form can read its values.

Blocks and objects become mappings, names of blocks in camel case as Kubernetes spells them.
Nothing is evaluated but what stands in the same file: defaults of variables, locals, and the
functions that only change the form of a value.  Any other expression stays text: `${var.tag}`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent

import yaml

from scheduler_reader.parse.hcl_text import (
    HEREDOC,
    bracket_end,
    expression_end,
    heredoc_end,
    skip_blank,
    string_end,
)

NAME = re.compile(r"[A-Za-z_][\w-]*")
ASSIGNMENT = re.compile(r"[ \t]*[=:](?!=)")
LITERAL = re.compile(r"-?\d+(?:\.\d+)?|true|false|null")
REFERENCE = re.compile(r"(?:var|local)\.([A-Za-z_][\w-]*)")
CALL = re.compile(r"([a-z_]+)\(")
INTERPOLATION = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
SAME_VALUE = frozenset(
    {"jsonencode", "yamlencode", "yamldecode", "jsondecode", "tolist", "tomap", "tostring"}
)
LISTS = frozenset({"env", "container", "containers", "set"})  # blocks that may be repeated
MAX_DEPTH = 60


@dataclass(slots=True)
class HclDocument:
    """One HCL text; `named` are the values of its locals and the defaults of its variables."""

    text: str
    named: dict[str, yaml.Node] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)  # of the lines
    depth: int = 0

    def root(self) -> yaml.MappingNode:
        """The whole text as one mapping; locals are looked up from the second reading on."""
        for _ in range(2):
            node = self._body(0, len(self.text))
        return node

    def _body(self, position: int, end: int) -> yaml.MappingNode:
        pairs: list[tuple[yaml.Node, yaml.Node]] = []
        blocks: dict[str, list[yaml.Node]] = {}
        start = position
        while (position := skip_blank(self.text, position)) < end:
            name = NAME.match(self.text, position)
            if name is None:
                position += 1
                continue
            key = self._scalar(_camel(name[0]), position)
            assigned = ASSIGNMENT.match(self.text, name.end())
            if assigned:
                value, position = self._expression(assigned.end(), end)
                pairs.append((key, value))
                continue
            body, labels, position = self._block(name.end(), end)
            if body is not None:
                self._note(name[0], labels, body)
                if key.value not in blocks:
                    pairs.append((key, self._sequence(blocks.setdefault(key.value, []), position)))
                blocks[key.value].append(body)
        found = [(key, _unwrapped(key.value, value, blocks)) for key, value in pairs]
        return self._mapping(found, start)

    def _block(self, position: int, end: int) -> tuple[yaml.MappingNode | None, list[str], int]:
        """Body and labels of `"label" … { … }`, and the position after it."""
        labels = []
        while position < end:
            position = skip_blank(self.text, position)
            if self.text.startswith('"', position):
                after = string_end(self.text, position)
                labels.append(self.text[position + 1 : after - 1])
                position = after
            elif self.text.startswith("{", position):
                after = bracket_end(self.text, position)
                self.depth += 1
                body = None
                if self.depth < MAX_DEPTH:
                    body = self._body(position + 1, min(after - 1, end))
                self.depth -= 1
                return body, labels, after
            else:
                break
        return None, labels, position + 1

    def _note(self, block: str, labels: list[str], body: yaml.MappingNode) -> None:
        for key, value in body.value:
            if block == "variable" and labels and key.value == "default":
                self.named[labels[0]] = value
            elif block == "locals":
                self.named[key.value] = value

    def _expression(self, position: int, limit: int) -> tuple[yaml.Node, int]:
        while position < limit and self.text[position] in " \t":
            position += 1
        end = min(expression_end(self.text, position), limit)
        return self._value(position, end), end

    def _value(self, start: int, end: int) -> yaml.Node:
        """The node of the expression between two positions."""
        text = self.text[start:end].rstrip()
        end = start + len(text)
        heredoc = HEREDOC.match(self.text, start)
        if heredoc:
            return self._heredoc(heredoc)
        if text.startswith('"') and string_end(self.text, start) == end:
            value = self._interpolated(text[1:-1])
            return self._scalar(ESCAPE.sub(_unescaped, value), start, '"')
        if text.startswith("[") and bracket_end(self.text, start) == end:
            return self._sequence(list(self._items(start + 1, end - 1)), start)
        if text.startswith("{") and bracket_end(self.text, start) == end:
            return self._object(start, end)
        if LITERAL.fullmatch(text):
            return self._scalar(text, start)
        call = CALL.match(self.text, start)
        if call and bracket_end(self.text, call.end() - 1) == end:
            return self._call(call[1], list(self._items(call.end(), end - 1)), text, start)
        return self._named(text) or self._scalar(f"${{{' '.join(text.split())}}}", start)

    def _named(self, text: str) -> yaml.Node | None:
        """What the file says of `var.x` or `local.x`."""
        reference = REFERENCE.fullmatch(text.strip())
        if reference is None:
            return None
        return self.named.get(reference[1]) or self.named.get(_camel(reference[1]))

    def _items(self, position: int, end: int) -> Iterator[yaml.Node]:
        self.depth += 1
        while self.depth < MAX_DEPTH and (position := skip_blank(self.text, position)) < end:
            if self.text[position] == ",":
                position += 1
                continue
            node, after = self._expression(position, end)
            position = max(after, position + 1)
            yield node
        self.depth -= 1

    def _object(self, start: int, end: int) -> yaml.MappingNode:
        pairs: list[tuple[yaml.Node, yaml.Node]] = []
        position = start + 1
        self.depth += 1
        while self.depth < MAX_DEPTH and (position := skip_blank(self.text, position)) < end - 1:
            name = NAME.match(self.text, position)
            if self.text[position] == '"':
                after = string_end(self.text, position)
                key = self._scalar(self.text[position + 1 : after - 1], position)
            elif name:
                after = name.end()
                key = self._scalar(name[0], position)
            else:
                position += 1
                continue
            assigned = ASSIGNMENT.match(self.text, after)
            if assigned is None:
                position = after
                continue
            value, position = self._expression(assigned.end(), end - 1)
            pairs.append((key, value))
        self.depth -= 1
        return self._mapping(pairs, start)

    def _call(self, name: str, given: list[yaml.Node], text: str, start: int) -> yaml.Node:
        if name in SAME_VALUE and len(given) == 1:
            return given[0]
        if name == "concat":
            parts = [
                node.value if isinstance(node, yaml.SequenceNode) else [node] for node in given
            ]
            return self._sequence([node for part in parts for node in part], start)
        if name == "join" and len(given) == 2 and isinstance(given[1], yaml.SequenceNode):
            texts = [str(node.value) for node in given[1].value]
            return self._scalar(str(given[0].value).join(texts), start)
        if name in {"trimspace", "chomp"} and len(given) == 1:
            return given[0]
        return self._scalar(f"${{{' '.join(text.split())}}}", start)

    def _heredoc(self, match: re.Match[str]) -> yaml.ScalarNode:
        end, _ = heredoc_end(self.text, match)
        text = self.text[match.end() : end]
        return self._scalar(
            self._interpolated(dedent(text) if match[1] else text), match.end(), "|"
        )

    def _interpolated(self, text: str) -> str:
        """The text with what the file says of its `${…}`; `$${` is a literal `${`."""

        def value(match: re.Match[str]) -> str:
            node = self._named(match[1])
            return str(node.value) if isinstance(node, yaml.ScalarNode) else match[0]

        return INTERPOLATION.sub(value, text).replace("$${", "${")

    def _scalar(self, value: str, position: int, style: str | None = None) -> yaml.ScalarNode:
        tag = "tag:yaml.org,2002:str"
        if style is None and LITERAL.fullmatch(value):
            kinds = {"true": "bool", "false": "bool", "null": "null"}
            tag = f"tag:yaml.org,2002:{kinds.get(value, 'float' if '.' in value else 'int')}"
        mark = self._mark(position)
        return yaml.ScalarNode(tag, value, mark, mark, style)

    def _sequence(self, nodes: list[yaml.Node], position: int) -> yaml.SequenceNode:
        mark = self._mark(position)
        return yaml.SequenceNode("tag:yaml.org,2002:seq", nodes, mark, mark)

    def _mapping(self, pairs: list[tuple[yaml.Node, yaml.Node]], position: int) -> yaml.MappingNode:
        mark = self._mark(position)
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, mark, mark)

    def _mark(self, position: int) -> yaml.Mark:
        if not self.starts:
            self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self.starts, position) - 1
        return yaml.Mark("", position, line, position - self.starts[line], None, 0)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _unwrapped(name: str, value: yaml.Node, blocks: dict[str, list[yaml.Node]]) -> yaml.Node:
    """A block that stands alone is its mapping, not a list of one."""
    found = blocks.get(name, [])
    return found[0] if len(found) == 1 and name not in LISTS else value


def _unescaped(match: re.Match[str]) -> str:
    return ESCAPES.get(match[1], match[1])
