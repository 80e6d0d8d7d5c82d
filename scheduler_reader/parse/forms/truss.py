"""Truss (Baseten): the `start_command` of a docker server, or the arguments in `model_metadata`.

`vllm_config` and `engine_args` go to AsyncEngineArgs by the Truss' own model.py, which also may
hold more; a Truss with vLLM but neither says no more than that.
"""

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
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, ParsedFile, Problem
from scheduler_reader.parse.yaml_arguments import environment, keywords, plain_text, word
from scheduler_reader.parse.yaml_nodes import child, compose, items, place
from scheduler_reader.value import Known

FORM = "truss"
START = ("docker_server", "start_command")
METADATA = "model_metadata"
CONFIGS = ("vllm_config", "engine_args")


def matches(file: InputFile) -> bool:
    """Whether the file is a Truss' with a start command, or one that installs vLLM."""
    has_key = START[0] in file.text or METADATA in file.text
    return has_key and "vllm" in file.text.lower() and any(map(_is_truss, compose(file)[0]))


def read(file: InputFile) -> ParsedFile:
    """The engine of the Truss."""
    documents, problems = compose(file)
    engines: list[ParsedEngine] = []
    for document in documents:
        start = child(document, *START)
        found = _from_command(start, file) if start is not None else _from_config(document, file)
        if start is not None and not found:
            message = "the start command runs no vLLM server that sched-reader understands"
            problems.append(Problem(message, place(start, file)))
        elif not found and _is_truss(document):
            message = "installs vLLM, but its arguments are in the Truss' model.py, not here"
            problems.append(Problem(message, place(document, file)))
        env = environment(child(document, "environment_variables"), file)
        version = _version(document, file)
        engines += [
            engine._replace(
                name=engine.name or plain_text(child(document, "model_name")),
                env=env | dict(engine.env),
                image_version=engine.image_version or version,
                deployment=accelerator(child(document, "resources", "accelerator"), file),
            )
            for engine in found
        ]
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _is_truss(document: yaml.Node) -> bool:
    if child(document, *START) is not None or _config(document) is not None:
        return True
    pins = (plain_text(pin) or "" for pin in items(child(document, "requirements")))
    return child(document, METADATA) is not None and any(pin.startswith("vllm") for pin in pins)


def _config(document: yaml.Node) -> yaml.Node | None:
    found = (child(document, METADATA, key) for key in CONFIGS)
    return next((node for node in found if node is not None), None)


def _from_command(start: yaml.Node, file: InputFile) -> tuple[ParsedEngine, ...]:
    inner = embedded(start, file)
    return engines_in_shell(inner.text, inner, FORM)


def _from_config(document: yaml.Node, file: InputFile) -> tuple[ParsedEngine, ...]:
    config = _config(document)
    if config is None:
        return ()
    node = child(document, METADATA, "repo_id") or child(config, "model")
    arguments = [entry for entry in keywords(config, file) if entry.key != "model"]
    unresolved = {}
    if node is None:
        unresolved["model"] = "model_metadata.repo_id is not in the file"
    else:
        text = word(node, file)
        arguments.insert(0, ConfigEntry("model", text.text, text.origin, text.unknown))
    return (
        ParsedEngine(
            FORM,
            place(config, file),
            entrypoint="api_server",
            keywords=tuple(arguments),
            unresolved=unresolved,
        ),
    )


def _version(document: yaml.Node, file: InputFile) -> Known[str] | None:
    """The release of the base image, or the one that the requirements pin."""
    image = child(document, "base_image", "image")
    version = known_release(
        release_of_image(plain_text(image) or ""), place(image or document, file)
    )
    for pin in items(child(document, "requirements")):
        stated = known_release(release_of_requirement(plain_text(pin) or ""), place(pin, file))
        version = stated or version
    return version
