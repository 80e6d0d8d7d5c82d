"""Shell scripts and pasted command lines: `vllm serve …`, `python -m vllm.entrypoints…`."""

from __future__ import annotations

import re

import yaml

from scheduler_reader.parse.forms.makefile import is_makefile
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_engines import engines_in_shell
from scheduler_reader.parse.source import ParsedFile, Problem
from scheduler_reader.parse.yaml_nodes import compose

FORM = "shell"
SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".slurm", ".sbatch"})
PASTED = frozenset({"", ".txt", ".cmd", ".command"})
SERVER = re.compile(r"\bvllm(?:\\\n|\s)+serve\b|vllm[./]entrypoints")
SHEBANG = re.compile(r"#!\s*\S*(?:/env\s+)?\S*sh\b")
OTHER_TEXT = re.compile(  # instructions of a Dockerfile, sections of a systemd unit
    r"^(?:(?:FROM|ENTRYPOINT|CMD)\s|\[(?:Unit|Service|Container)\]\s*$)", re.MULTILINE
)


def matches(file: InputFile) -> bool:
    """Whether the text is a shell script, or a pasted command that starts a vLLM server."""
    if is_script(file):
        return True
    is_pasted = file.suffix in PASTED and SERVER.search(file.text) is not None
    return is_pasted and not is_other_text(file)


def read(file: InputFile) -> ParsedFile:
    """One engine for each server the script starts."""
    return read_script(file, FORM)


def read_script(file: InputFile, form: str) -> ParsedFile:
    """The engines of a script, or the problem that it has none."""
    engines = engines_in_shell(file.text, file, form)
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
    return ParsedFile(file.path, form, engines, problems)


def is_script(file: InputFile) -> bool:
    """Whether a text is a shell script by its name or its first line."""
    return file.suffix in SCRIPTS or SHEBANG.match(file.text) is not None


def is_other_text(file: InputFile) -> bool:
    """Whether a text is a Dockerfile, a systemd unit, a Makefile or YAML rather than shell."""
    return OTHER_TEXT.search(file.text) is not None or is_makefile(file) or _is_yaml(file)


def _is_yaml(file: InputFile) -> bool:
    """Whether the text is a YAML mapping; a script practically never is one."""
    documents, _ = compose(file)
    return bool(documents) and isinstance(documents[0], yaml.MappingNode)
