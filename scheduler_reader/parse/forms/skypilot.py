"""SkyPilot tasks: the script `run`, with the variables of `envs` and what `setup` installs."""

from __future__ import annotations

import yaml

from scheduler_reader.parse.accelerators import accelerator
from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.image_version import (
    known_release,
    release_of_image,
    release_of_requirement,
)
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_engines import engines_in_shell
from scheduler_reader.parse.shell_variables import variables_of
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import environment, plain_text
from scheduler_reader.parse.yaml_nodes import child, compose, entries, items, place
from scheduler_reader.value import Known

FORM = "skypilot"
TASK_KEYS = frozenset({"resources", "setup", "envs", "secrets", "service", "num_nodes", "workdir"})


def matches(file: InputFile) -> bool:
    """Whether a document has `run` as a text and another key of a task, and vLLM is named."""
    names_server = "run:" in file.text and "vllm" in file.text.lower()
    return names_server and any(map(_is_task, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """The servers that the tasks start."""
    documents, problems = compose(file)
    engines = [engine for task in filter(_is_task, documents) for engine in _engines(task, file)]
    if not engines and not problems:
        run = next(filter(_is_task, documents))
        message = "the script `run` starts no vLLM server that sched-reader understands"
        problems.append(Problem(message, place(child(run, "run") or run, file)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _is_task(document: yaml.Node) -> bool:
    if not isinstance(child(document, "run"), yaml.ScalarNode):
        return False
    return any(entry.key in TASK_KEYS for entry in entries(document))


def _engines(task: yaml.Node, file: InputFile) -> list[ParsedEngine]:
    run = child(task, "run")
    if run is None:
        return []
    env = environment(child(task, "envs"), file) | environment(child(task, "secrets"), file)
    inner = embedded(run, file)
    version = _installed(task, file)
    name = plain_text(child(task, "name"))
    return [
        engine._replace(
            name=engine.name or name,
            env=env | dict(engine.env),
            image_version=engine.image_version or version,
            deployment=accelerator(_accelerators(task), file),
        )
        for engine in engines_in_shell(inner.text, inner, FORM, variables=variables_of(env))
    ]


def _accelerators(task: yaml.Node) -> yaml.Node | None:
    """The accelerators of the task; of alternatives only where there is one."""
    resources = child(task, "resources")
    choices = (*items(child(resources, "any_of")), *items(child(resources, "ordered")))
    return child(resources, "accelerators") or (
        child(choices[0], "accelerators") if len(choices) == 1 else None
    )


def _installed(task: yaml.Node, file: InputFile) -> Known[str] | None:
    """The release that the image or, later, the `setup` script brings."""
    version = None
    resources = child(task, "resources")
    for node in (
        resources,
        *items(child(resources, "any_of")),
        *items(child(resources, "ordered")),
    ):
        image = child(node, "image_id")
        text = (plain_text(image) or "").removeprefix("docker:")
        if image is not None:
            version = known_release(release_of_image(text), place(image, file)) or version
    setup = child(task, "setup")
    if isinstance(setup, yaml.ScalarNode):
        inner = embedded(setup, file)
        for number, line in enumerate(inner.text.split("\n"), start=1):
            if not line.lstrip().startswith("#"):
                stated = known_release(release_of_requirement(line), inner.origin(number))
                version = stated or version
    return version
