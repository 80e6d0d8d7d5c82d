"""The objects of a Kubernetes YAML file: its documents, Lists and OpenShift Templates opened."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import Problem
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, compose, items
from scheduler_reader.record import Record

API_VERSION = re.compile(r"(?:^|[{,-])\s*[\"']?apiVersion[\"']?\s*:", re.MULTILINE)
KIND = re.compile(r"(?:^|[{,-])\s*[\"']?kind[\"']?\s*:\s*[\"']?([A-Za-z]+)", re.MULTILINE)
DOCUMENT_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)
YAML_SUFFIXES = frozenset({".yaml", ".yml", ".json", ""})


class KubernetesObject(Record):
    """One object; `group` is its apiVersion without the version."""

    kind: str
    group: str
    node: yaml.Node

    @property
    def name(self) -> str | None:
        return plain_text(child(self.node, "metadata", "name"))


def kinds_in(file: InputFile) -> frozenset[str]:
    """The kinds that a text names, when it looks like Kubernetes objects; it is not parsed."""
    if file.suffix not in YAML_SUFFIXES or not API_VERSION.search(file.text):
        return frozenset()
    return frozenset(KIND.findall(file.text))


def read_objects(file: InputFile) -> tuple[list[KubernetesObject], list[Problem]]:
    """The objects that can be read, and what is wrong with the other documents."""
    documents, problems = compose(file)
    if problems:
        documents, problems = _one_by_one(file)
    return [found for document in documents for found in _objects(document)], problems


def _one_by_one(file: InputFile) -> tuple[list[yaml.Node], list[Problem]]:
    """Each document by itself, so that a broken one does not hide those after it."""
    starts = [0, *(match.start() for match in DOCUMENT_START.finditer(file.text))]
    documents: list[yaml.Node] = []
    problems: list[Problem] = []
    for start, end in zip(starts, [*starts[1:], len(file.text)], strict=True):
        text = "\n" * file.text.count("\n", 0, start) + file.text[start:end]
        if not text.strip():
            continue
        found, wrong = compose(InputFile(file.path, text))
        documents += found
        problems += wrong
    return documents, problems


def _objects(node: yaml.Node) -> Iterator[KubernetesObject]:
    kind = plain_text(child(node, "kind"))
    if kind is None:
        return
    inner = "objects" if kind == "Template" else "items"
    if kind == "Template" or kind.endswith("List"):
        for item in items(child(node, inner)):
            yield from _objects(item)
        return
    group = (plain_text(child(node, "apiVersion")) or "").partition("/")[0]
    yield KubernetesObject(kind, group, node)
