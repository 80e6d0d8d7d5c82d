"""KAITO: the Workspace, and the inference config that it names.

KAITO hands `vllm:` of the config on as `--key value`, booleans too, whatever vLLM makes of that.
Source: kaito, presets/workspace/inference/vllm/inference_api.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.pod import PodReader
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import option, plain_text, text_word
from scheduler_reader.parse.yaml_nodes import child, compose, entries, place

FORM = "kaito"
GROUP = "kaito.sh"
CONFIG_KEY = "inference_config.yaml"
PROBE = "max_probe_steps"


def matches(file: InputFile) -> bool:
    """Whether the file has a KAITO resource, or an inference config."""
    if GROUP + "/" not in file.text and CONFIG_KEY not in file.text and PROBE not in file.text:
        return False
    documents, _ = compose(file)
    return any(_is_workspace(d) or _configs(d, file) or _is_config(d) for d in documents)


def read(file: InputFile) -> ParsedFile:
    """One engine for each Workspace; for each config where the file has no Workspace."""
    documents, problems = compose(file)
    configs = {name: found for d in documents for name, found in _configs(d, file).items()}
    engines = [
        engine
        for document in filter(_is_workspace, documents)
        for engine in _workspace(document, configs, file, problems)
    ]
    if not any(map(_is_workspace, documents)):
        engines += [_engine(node, inner, None) for node, inner in configs.values()]
        engines += [_engine(document, file, None) for document in filter(_is_config, documents)]
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _is_workspace(document: yaml.Node) -> bool:
    group = (plain_text(child(document, "apiVersion")) or "").partition("/")[0]
    return group == GROUP and _inference(document) is not None


def _inference(document: yaml.Node) -> yaml.Node | None:
    """`inference` of a Workspace, or of the Workspaces that an InferenceSet makes."""
    return child(document, "inference") or child(document, "spec", "template", "inference")


def _is_config(document: yaml.Node) -> bool:
    return child(document, "vllm") is not None and child(document, "kind") is None


def _configs(document: yaml.Node, file: InputFile) -> dict[str, tuple[yaml.Node, InputFile]]:
    """The inference config in a ConfigMap, by the name of the ConfigMap."""
    text = child(document, "data", CONFIG_KEY)
    if not isinstance(text, yaml.ScalarNode):
        return {}
    inner = embedded(text, file)
    documents, _ = compose(inner)
    name = plain_text(child(document, "metadata", "name")) or ""
    return {name: (documents[0], inner)} if documents else {}


def _workspace(
    document: yaml.Node,
    configs: dict[str, tuple[yaml.Node, InputFile]],
    file: InputFile,
    problems: list[Problem],
) -> Iterator[ParsedEngine]:
    inference = _inference(document)
    name = plain_text(child(document, "metadata", "name"))
    template = child(inference, "template", "spec")
    if template is not None:
        pods = PodReader(file, FORM)
        yield from (engine._replace(name=name) for engine in pods.engines(template, None))
        problems += pods.problems
        return
    config = child(inference, "config")
    reference = plain_text(config)
    preset = child(inference, "preset", "name")
    if reference in configs:
        node, inner = configs[reference]
        yield _engine(node, inner, preset)._replace(name=name)
    elif preset is not None:
        unresolved = (
            {}
            if reference is None
            else {
                "*extra_args": f"the arguments are in ConfigMap {reference}, which is not in the file"
            }
        )
        found = _engine(preset, file, preset)
        yield found._replace(name=name, unresolved={**found.unresolved, **unresolved})


def _engine(config: yaml.Node, file: InputFile, preset: yaml.Node | None) -> ParsedEngine:
    arguments: list[Word] = []
    vllm = child(config, "vllm")
    for entry in entries(vllm):
        arguments += option(entry.key, entry, file)
    model = plain_text(preset)
    unresolved = {}
    if preset is not None and model is not None and "/" in model:
        name = (Word("--model", place(preset, file)), text_word(model, preset, file))
        arguments = [*name, *arguments]
    elif model is not None:
        unresolved["model"] = f"preset {model}: KAITO's own name for a model, no Hub id"
    else:
        unresolved["model"] = "the Workspace that names the preset is not in the file"
    return ParsedEngine(
        FORM,
        place(config, file),
        entrypoint="api_server",
        words=tuple(arguments),
        unresolved=unresolved,
    )
