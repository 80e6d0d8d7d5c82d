"""YAML that nobody but its authors has a schema for: what it says about a vLLM server by itself.

Values of a chart of one's own, above all.  Three things speak for themselves: a command that
starts the server, options beside an image of vLLM, and a map whose keys are vLLM's arguments.
Whatever renders the values is not read, so every engine says that it may add to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from scheduler_reader.knowledge.flags import any_release_table
from scheduler_reader.parse.argument_names import argument_named
from scheduler_reader.parse.container import Container
from scheduler_reader.parse.convert import takes_json
from scheduler_reader.parse.embedded import embedded
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.option_text import option_text_words
from scheduler_reader.parse.shell_engines import (
    engines_in_container,
    engines_in_shell,
    mentions_server,
)
from scheduler_reader.parse.shell_variables import variables_of
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, Word
from scheduler_reader.parse.yaml_arguments import environment, keywords, plain_text, words
from scheduler_reader.parse.yaml_nodes import Entry, child, entries, items, place, value_of
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Value

TEMPLATES = "what renders this file is not read; it may add arguments or change these"
MODEL_KEYS = (
    "modelURL", "modelUrl", "modelId", "modelID", "model_id", "modelName", "model_name",
    "modelPath", "model_path", "huggingfaceModel", "hfModel", "repoId", "repo_id", "model",
)  # fmt: skip
MODEL_FIELDS = ("id", "repo", "repository", "source", "path", "uri", "url", "name")
OPTION_KEYS = re.compile(
    r"(?:vllm|engine|server|extra|serve)?_?(?:cmd|cli)?_?(?:args|arguments|flags)|command|cmd",
    re.IGNORECASE,
)
COMMAND_KEYS = re.compile(
    r".*(?:command|cmd|args|entrypoint|script|shell|run|start|exec|launch|serve|vllm)",
    re.IGNORECASE,
)
MODEL = re.compile(r"(?:hf://)?([\w.-]+/[\w.-]+)|(/[\w./-]+)")
ENV_KEYS = ("env", "extraEnv", "envVars", "env_vars", "envs", "environment")
# A folded text keeps the breaks before lines that stand further in; no command begins like these.
OPTION_LINE = re.compile(r"(?<!\\)\n(?=\s*(?:--?[A-Za-z]|['\"]\{))")


class _Scope(Record):
    """What the maps around a place say: image, environment, model."""

    image: yaml.Node | None = None
    image_text: str = ""
    env: yaml.Node | None = None
    model: Word | None = None


def holds_server(document: yaml.Node) -> bool:
    """Whether the values say anything about a vLLM server that speaks for itself."""
    probe = InputFile("", "x")
    return next(_engines(document, probe, "", _Scope()), None) is not None


def read_engines(document: yaml.Node, file: InputFile, form: str) -> tuple[ParsedEngine, ...]:
    """The engines of the values, each with the remark that templates are not read."""
    found = list(_engines(document, file, form, _Scope()))
    is_default = [bool(engine.keywords) and "model" in engine.unresolved for engine in found]
    return tuple(
        engine._replace(unresolved={**engine.unresolved, "*template": TEMPLATES})
        for engine, is_without_model in zip(found, is_default, strict=True)
        if all(is_default) or not is_without_model
    )


def _engines(node: yaml.Node, file: InputFile, form: str, scope: _Scope) -> Iterator[ParsedEngine]:
    for item in items(node):
        yield from _engines(item, file, form, scope)
    if not isinstance(node, yaml.MappingNode) or _is_off(node):
        return
    scope = _inner_scope(node, file, scope)
    found = _container(node, file, form, scope)
    if found:
        yield from found
        return
    for entry in entries(node):
        text = plain_text(entry.node)
        if text is not None and COMMAND_KEYS.fullmatch(entry.key) and mentions_server(text):
            env, inner = _env(file, scope), embedded(entry.node, file)
            for engine in engines_in_shell(
                OPTION_LINE.sub(" ", text), inner, form, variables=variables_of(env)
            ):
                yield engine._replace(
                    env=env | dict(engine.env),
                    image_version=engine.image_version or _version(file, scope),
                )
        elif entry.key in ENV_KEYS:
            continue
        elif _is_argument_map(entry.node):
            yield _from_arguments(entry.node, file, form, scope)
        else:
            yield from _engines(entry.node, file, form, _below(entry, file, scope))


def _is_off(node: yaml.Node) -> bool:
    """Whether a map says that what it describes is not installed."""
    switch = child(node, "enabled")
    return switch is not None and value_of(switch) is False


def _below(entry: Entry, file: InputFile, scope: _Scope) -> _Scope:
    """What holds below a key that is a Hub id: maps of models are often keyed so."""
    match = MODEL.fullmatch(entry.key)
    if match is None or not isinstance(entry.node, yaml.MappingNode):
        return scope
    return scope._replace(model=Word(match[1] or match[2], place(entry.key_node, file)))


def _container(
    node: yaml.Node, file: InputFile, form: str, scope: _Scope
) -> tuple[ParsedEngine, ...]:
    """The servers of a map that reads like a container: `command`, `args`, or other options."""
    env = _env(file, scope)
    command = words(child(node, "command"), file, env)
    arguments = _options(node, file, env)
    if not command and not arguments:
        return ()
    names_model = any(word.text.partition("=")[0] == "--model" for word in arguments)
    is_model_first = bool(arguments) and not arguments[0].text.startswith("-")
    container = Container(
        form,
        place(node, file),
        name=plain_text(child(node, "name")),
        image=Word(scope.image_text, place(scope.image, file)) if scope.image else None,
        program=command or None,
        arguments=(
            *_model_words(scope, bool(command) or names_model or is_model_first),
            *arguments,
        ),
        env=env,
    )
    return engines_in_container(container, file)


def _options(node: yaml.Node, file: InputFile, env: dict[str, Value[str]]) -> tuple[Word, ...]:
    """What stands under `args`, `extraArgs` and the like: `args` first, as templates put it."""
    found: list[tuple[bool, tuple[Word, ...]]] = []
    for entry in entries(node):
        if not OPTION_KEYS.fullmatch(entry.key):
            continue
        text = plain_text(entry.node) or ""
        if text.startswith("-"):
            found.append((entry.key != "args", option_text_words(embedded(entry.node, file))))
        elif entry.key != "command" and not any(map(_is_container, items(entry.node))):
            found.append((entry.key != "args", words(entry.node, file, env)))
    return tuple(word for _, part in sorted(found, key=lambda pair: pair[0]) for word in part)


def _is_container(node: yaml.Node) -> bool:
    return not isinstance(node, yaml.ScalarNode)


def _is_argument_map(node: yaml.Node) -> bool:
    found = list(entries(node))
    known = [name for entry in found if (name := _argument(entry)) is not None]
    telling = [name for name in known if "_" in name]
    return len(telling) >= 2 and 5 * len(known) >= 3 * len(found)


def _argument(entry: Entry) -> str | None:
    """The argument that an entry sets: a map is the value of those that take JSON only."""
    name = argument_named(entry.key)
    flag = any_release_table().argument(name) if name else None
    if isinstance(entry.node, yaml.MappingNode) and not (flag and takes_json(flag)):
        return None
    return name


def _from_arguments(node: yaml.Node, file: InputFile, form: str, scope: _Scope) -> ParsedEngine:
    arguments = [
        _typed(entry._replace(key=name))
        for entry in keywords(node, file)
        if (name := argument_named(entry.key)) is not None
    ]
    has_model = any(entry.key == "model" for entry in arguments)
    model = _model_words(scope, has_model)
    unknown = {"model": "the values do not say it where sched-reader looks"}
    return ParsedEngine(
        form,
        place(node, file),
        words=model,
        entrypoint="api_server",
        keywords=tuple(arguments),
        env=_env(file, scope),
        image_version=_version(file, scope),
        unresolved={} if model or has_model else unknown,
    )


def _typed(entry: ConfigEntry) -> ConfigEntry:
    """`"True"` and `"False"` as booleans: templates print them all the same."""
    truth = {"true": True, "false": False}
    text = entry.value.lower() if isinstance(entry.value, str) else ""
    return entry._replace(value=truth[text]) if text in truth else entry


def _inner_scope(node: yaml.Node, file: InputFile, outer: _Scope) -> _Scope:
    image = child(node, "image") if child(node, "repository") is None else node
    text = plain_text(image)
    if image is not None and text is None:
        parts = (plain_text(child(image, key)) for key in ("registry", "repository", "tag"))
        registry, repository, tag = parts
        text = f"{registry + '/' if registry else ''}{repository}:{tag}" if repository else None
    env = next((found for key in ENV_KEYS if (found := child(node, key)) is not None), None)
    return _Scope(
        image=image if text else outer.image,
        image_text=text or outer.image_text,
        env=env or outer.env,
        model=_model(node, file) or outer.model,
    )


def _model(node: yaml.Node, file: InputFile) -> Word | None:
    """The model that a map names in so many words: a Hub id or an absolute path."""
    for key in MODEL_KEYS:
        found = child(node, key)
        fields = [found, *(child(found, field) for field in MODEL_FIELDS)]
        for field in fields:
            match = MODEL.fullmatch(plain_text(field) or "")
            if field is not None and match is not None:
                return Word(match[1] or match[2], place(field, file))
    nested = child(node, "config", "model") or next(
        (found for entry in entries(node) if (found := child(entry.node, "model", "source"))), None
    )
    match = MODEL.fullmatch(plain_text(nested) or "")
    return Word(match[1] or match[2], place(nested, file)) if nested and match else None


def _model_words(scope: _Scope, is_given: bool) -> tuple[Word, ...]:
    if is_given or scope.model is None:
        return ()
    return (Word("--model", scope.model.origin), scope.model)


def _env(file: InputFile, scope: _Scope) -> dict[str, Value[str]]:
    return environment(scope.env, file)


def _version(file: InputFile, scope: _Scope) -> Known[str] | None:
    if scope.image is None:
        return None
    return known_release(release_of_image(scope.image_text), place(scope.image, file))
