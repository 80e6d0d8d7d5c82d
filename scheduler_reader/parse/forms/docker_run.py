"""`docker run image …` (podman, nerdctl) in a script, a pasted command or a text."""

from __future__ import annotations

import re

from scheduler_reader.parse.forms import shell
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile

FORM = "docker-run"
RUN = re.compile(
    r"\b(?:nvidia-docker|docker|podman|nerdctl)(?:\\\n|[^\S\n]|--(?:(?!\\\n)\S)++)*?"  # whole words: no second way
    r"(?:container\s+)?(?:run|create)\b"
)


def matches(file: InputFile) -> bool:
    """Whether the text is a script or a pasted command that runs a container of vLLM."""
    if not RUN.search(file.text) or "vllm" not in file.text.lower():
        return False
    return shell.is_script(file) or (file.suffix in shell.PASTED and not shell.is_other_text(file))


def read(file: InputFile) -> ParsedFile:
    """One engine for each server the script starts, in containers and beside them."""
    return shell.read_script(file, FORM)
