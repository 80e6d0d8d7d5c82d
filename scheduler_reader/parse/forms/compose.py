"""Docker compose files: every service that runs vLLM."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile

FORM = "compose"
SERVICES = re.compile(r"^[\"']?services[\"']?\s*:", re.MULTILINE)
SERVICE_KEY = re.compile(
    r"^\s+[\"']?(?:image|build|command|entrypoint|extends)[\"']?\s*:", re.MULTILINE
)
KUBERNETES = re.compile(r"^apiVersion\s*:", re.MULTILINE)


def matches(file: InputFile) -> bool:
    """Whether a text has services with an image or a command, and names vLLM."""
    return (
        file.suffix in {".yaml", ".yml", ""}
        and "vllm" in file.text.lower()
        and SERVICES.search(file.text) is not None
        and SERVICE_KEY.search(file.text) is not None
        and KUBERNETES.search(file.text) is None
    )


def read(file: InputFile) -> ParsedFile:
    """The engines of the services, in every profile."""
    from scheduler_reader.parse.compose_reader import read_compose

    return read_compose(file, FORM)
