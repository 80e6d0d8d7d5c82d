"""Any other YAML that holds a vLLM server: values of a chart of one's own, above all.

The name puts this form behind all others: it knows no schema, only what speaks for itself.
"""

from __future__ import annotations

from scheduler_reader.parse.home_grown import holds_server, read_engines
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.parse.yaml_nodes import child, compose

FORM = "yaml"
SUFFIXES = (".yaml", ".yml", ".json", ".tpl", ".gotmpl", "")


def matches(file: InputFile) -> bool:
    """Whether the text is one YAML document, no Kubernetes object, that holds a server."""
    if file.suffix not in SUFFIXES or "vllm" not in file.text.lower():
        return False
    documents, _ = compose(file)
    if len(documents) != 1:
        return False
    return child(documents[0], "kind") is None and holds_server(documents[0])


def read(file: InputFile) -> ParsedFile:
    """The engines that the values describe."""
    documents, problems = compose(file)
    return ParsedFile(file.path, FORM, read_engines(documents[0], file, FORM), tuple(problems))
