"""Shell scripts and pasted command lines: `vllm serve …`, `python -m vllm.entrypoints…`."""

from __future__ import annotations

import re

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_engines import engines_in_shell
from scheduler_reader.parse.source import ParsedFile, Problem

FORM = "shell"
SERVER = re.compile(r"\bvllm(?:\\\n|\s)+serve\b|vllm[./]entrypoints")
SHEBANG = re.compile(r"#!\s*\S*(?:/env\s+)?\S*sh\b")


def matches(file: InputFile) -> bool:
    """Whether the text is a script that starts a vLLM server (and no YAML, JSON or Dockerfile)."""
    if file.suffix in {".yaml", ".yml", ".json", ".toml", ".tf", ".service", ".py"}:
        return False
    if file.suffix in {".sh", ".bash", ".zsh", ".slurm", ".sbatch"} or SHEBANG.match(file.text):
        return True
    return SERVER.search(file.text) is not None


def read(file: InputFile) -> ParsedFile:
    """One engine for each server the script starts."""
    engines = engines_in_shell(file.text, file, FORM)
    problems: tuple[Problem, ...] = ()
    if not engines:
        mention = SERVER.search(file.text)
        if mention is None:
            message = "starts no vLLM server; `vllm serve …` is what sched-reader reads"
            problems = (Problem(message, file.origin(1)),)
        else:
            line = file.text.count("\n", 0, mention.start()) + 1
            message = "names the vLLM server, but no command that starts it is understood"
            problems = (Problem(message, file.origin(line)),)
    return ParsedFile(file.path, FORM, engines, problems)
