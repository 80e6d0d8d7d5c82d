"""dstack services and tasks: the script of `commands`, with `env`, the image and the GPUs.

Source: dstack, reference of .dstack.yml (service, task, resources.gpu) and its DSTACK_GPUS_NUM.
"""

from __future__ import annotations

import re

import yaml

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import whole_number
from scheduler_reader.parse.shell_engines import engines_in_shell
from scheduler_reader.parse.shell_variables import variables_of
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import environment, plain_text
from scheduler_reader.parse.yaml_nodes import child, compose, items, place
from scheduler_reader.value import Known, Unknown, Value

FORM = "dstack"
TYPES = frozenset({"service", "task", "dev-environment"})
VENDORS = frozenset({"nvidia", "amd", "intel", "tenstorrent", "google"})
MEMORY = re.compile(r"\d+(?:\.\d+)?GB(?:\.\..*)?|.*\.\.\d+GB", re.IGNORECASE)


def matches(file: InputFile) -> bool:
    """Whether a document has the type of a dstack run and commands, and vLLM is named."""
    names_server = "commands:" in file.text and "vllm" in file.text.lower()
    return names_server and any(map(_is_run, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """The servers that the runs start."""
    documents, problems = compose(file)
    runs = list(filter(_is_run, documents))
    engines = [engine for run in runs for engine in _engines(run, file)]
    if not engines and not problems:
        message = "its commands start no vLLM server that sched-reader understands"
        problems.append(Problem(message, place(child(runs[0], "commands") or runs[0], file)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _is_run(document: yaml.Node) -> bool:
    return plain_text(child(document, "type")) in TYPES and bool(items(child(document, "commands")))


def _engines(run: yaml.Node, file: InputFile) -> list[ParsedEngine]:
    """The engines of the commands, which one shell runs after each other."""
    commands = [item for item in items(child(run, "commands")) if isinstance(item, yaml.ScalarNode)]
    if not commands:
        return []
    gpus = _gpus(child(run, "resources", "gpu"), file)
    env = environment(child(run, "env"), file)
    given: dict[str, Value[str]] = {}
    if gpus is not None and isinstance(gpus.gpu_request, Known):
        given["DSTACK_GPUS_NUM"] = Known(str(gpus.gpu_request.value), gpus.gpu_request.origin)
    image = child(run, "image")
    release = known_release(release_of_image(plain_text(image) or ""), place(image or run, file))
    start = place(commands[0], file)
    text = "\n".join(str(command.value) for command in commands)
    inner = excerpt(file, text, start.line or 1, start.column or 1)
    return [
        engine._replace(
            name=engine.name or plain_text(child(run, "name")),
            env=env | dict(engine.env),
            image_version=engine.image_version or release,
            deployment=gpus,
        )
        for engine in engines_in_shell(inner.text, inner, FORM, variables=variables_of(given | env))
    ]


def _gpus(node: yaml.Node | None, file: InputFile) -> Deployment | None:
    """`H100:8`, `nvidia:A100:80GB:2`, or a map of name, memory and count; ranges are unknown."""
    if node is None:
        return None
    text = plain_text(node)
    fields = ("vendor", "name", "memory", "count")
    parts = text.split(":") if text else [plain_text(child(node, key)) or "" for key in fields]
    kept = [part.strip() for part in parts if part.strip() and part.strip() not in VENDORS]
    memory = next((part for part in kept if MEMORY.fullmatch(part)), None)
    names = [part for part in kept if part != memory and not part[0].isdigit()]
    numbers = [part for part in kept if part != memory and part[0].isdigit()]
    if not names or "," in names[0]:
        return None
    origin = place(node, file)
    exact = memory if memory and ".." not in memory else None
    number = whole_number(numbers[0]) if numbers else 1
    count: Value[int] = Unknown("a range of GPUs is asked for", origin)
    return Deployment(
        gpu_request=Known(number, origin) if number else count,
        gpu_product=Known("-".join(filter(None, (names[0], exact))), origin),
    )
