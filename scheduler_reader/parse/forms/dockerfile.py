"""Dockerfiles (Containerfiles): what an image of one's own starts when it is run as it is."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile

FORM = "dockerfile"
NAMES = ("dockerfile", "containerfile")
START = re.compile(r"^(?:FROM|ENTRYPOINT|CMD)\s+\S", re.MULTILINE)
NOT_DOCKER = frozenset({".yaml", ".yml", ".json", ".sh", ".bash", ".py", ".md", ".tf", ".service"})


def matches(file: InputFile) -> bool:
    """Whether a text is a Dockerfile by its name or its instructions, and names vLLM."""
    if "vllm" not in file.text.lower():
        return False
    if file.name.startswith(NAMES) or file.name.endswith(NAMES):
        return True
    return file.suffix not in NOT_DOCKER and START.search(file.text) is not None


def read(file: InputFile) -> ParsedFile:
    """The engine that the last stage starts."""
    from scheduler_reader.parse.dockerfile_build import read_dockerfile

    return read_dockerfile(file, FORM)
