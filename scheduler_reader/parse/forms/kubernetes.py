"""Kubernetes manifests: workloads of every kind that have a pod template, in any number."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.kubernetes_objects import kinds_in
from scheduler_reader.parse.manifests import read_manifest
from scheduler_reader.parse.source import ParsedFile

FORM = "kubernetes"
CONTAINERS = re.compile(r"(?:^|[{,-])\s*[\"']?containers[\"']?\s*:", re.MULTILINE)
READ_BY_OTHER_FORMS = re.compile(
    r"apiVersion[\"']?\s*:\s*[\"']?[\w.-]*\b"
    r"(?:leaderworkerset\.x-k8s\.io|ray\.io|llmaz\.io|production-stack\.vllm\.ai)/"
)


def matches(file: InputFile) -> bool:
    """Whether a text is Kubernetes objects of which one has containers, and names vLLM."""
    return (
        "vllm" in file.text.lower()
        and bool(kinds_in(file))
        and CONTAINERS.search(file.text) is not None
        and READ_BY_OTHER_FORMS.search(file.text) is None
    )


def read(file: InputFile) -> ParsedFile:
    """The engines in the containers of every pod template of the file."""
    return read_manifest(file, FORM)
