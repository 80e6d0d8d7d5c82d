"""vLLM's own benchmark and evaluation files: the servers that their tests start.

`server_parameters` (with `defaults` below every test) become `--key value`, an empty text a bare
option; `parameters` of latency and throughput tests feed the offline LLM; evaluation files give
`server_args` as one command line.
Source: vLLM, .buildkite/performance-benchmarks (json2args), tests/evals/gsm8k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from scheduler_reader.knowledge.flags import any_release_table
from scheduler_reader.parse.argument_names import argument_named
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import Entrypoint, ParsedEngine, ParsedFile, Problem, Word
from scheduler_reader.parse.yaml_arguments import environment, keywords, option, plain_text, word
from scheduler_reader.parse.yaml_nodes import Entry, child, compose, entries, items, place

FORM = "bench"
SERVER = ("server_parameters", "vllm_server_parameters")
OFFLINE = "parameters"
COMMON = "common_parameters"
ENVIRONMENT = ("server_environment_variables", "environment_variables")
EVALUATION = ("model_name", "server_args")
HARNESS = ("model_name", "tasks")


def matches(file: InputFile) -> bool:
    """Whether the file holds benchmark tests, or the evaluation of a model behind a server."""
    if not any(
        mark in file.text for mark in (*SERVER, '"parameters"', EVALUATION[1], "num_fewshot")
    ):
        return False
    documents, _ = compose(_as_yaml(file))
    return any(_tests(document) or _is_evaluation(document) for document in documents)


def read(file: InputFile) -> ParsedFile:
    """One engine for each test, or for the evaluation."""
    documents, problems = compose(_as_yaml(file))
    engines: list[ParsedEngine] = []
    for document in documents:
        if _is_evaluation(document):
            engines.append(_evaluation(document, file))
        for test in _tests(document):
            engines += _engine(test, child(document, "defaults"), file)
    if not engines and not problems:
        problems.append(Problem("no test in it starts a vLLM server", file.origin(1)))
    return ParsedFile(file.path, FORM, tuple(engines), tuple(problems))


def _as_yaml(file: InputFile) -> InputFile:
    """JSON is YAML but for tabs between its tokens; places stay the same."""
    if file.suffix != ".json":
        return file
    return InputFile(file.path, file.text.replace("\t", " "))


def _tests(document: yaml.Node) -> list[yaml.Node]:
    tests = items(document) or items(child(document, "tests"))
    has_defaults = any(child(document, "defaults", key) is not None for key in SERVER)
    return [test for test in tests if has_defaults or _is_test(test)]


def _is_test(test: yaml.Node) -> bool:
    if any(child(test, key) is not None for key in SERVER):
        return True
    return child(test, "test_name") is not None and child(test, OFFLINE) is not None


def _engine(test: yaml.Node, defaults: yaml.Node | None, file: InputFile) -> Iterator[ParsedEngine]:
    """The engine of a test; its own values replace the defaults key by key."""
    server = _merged(test, defaults, SERVER)
    offline = _merged(test, defaults, (OFFLINE,))
    common = _merged(test, defaults, (COMMON,))
    env = _merged(test, defaults, ENVIRONMENT)
    names = any_release_table()
    arguments = server or {
        key: entry for key, entry in offline.items() if names.argument(key) is not None
    }
    if not arguments and not common:
        return
    found: list[Word] = []
    if "model" in common:
        found += option("model", common["model"], file)
    if "tp" in common:
        found += option("tensor-parallel-size", common["tp"], file)
    for key, entry in arguments.items():
        name, value = option(key, entry, file)
        found += [name, value] if value.text else [name]
    entrypoint: Entrypoint = "api_server" if server or common else "llm"
    yield ParsedEngine(
        FORM,
        place(test, file),
        name=plain_text(child(test, "test_name")),
        entrypoint=entrypoint,
        words=tuple(found),
        env={
            key: value
            for entry in env.values()
            for key, value in environment(_single(entry), file).items()
        },
    )


def _merged(
    test: yaml.Node, defaults: yaml.Node | None, keys: tuple[str, ...]
) -> Mapping[str, Entry]:
    merged: dict[str, Entry] = {}
    for owner in (defaults, test):
        for key in keys:
            node = child(owner, key)
            merged |= {entry.key: entry for entry in entries(node)}
    return merged


def _single(entry: Entry) -> yaml.Node:
    return yaml.MappingNode("tag:yaml.org,2002:map", [(entry.key_node, entry.node)])


def _is_evaluation(document: yaml.Node) -> bool:
    return any(
        all(child(document, key) is not None for key in keys) for keys in (EVALUATION, HARNESS)
    )


def _harness(document: yaml.Node, file: InputFile) -> ParsedEngine:
    """An lm-eval config: arguments of the offline LLM among the harness's own keys."""
    model = child(document, "model_name")
    own = [entry for entry in keywords(document, file) if argument_named(entry.key) == entry.key]
    return ParsedEngine(
        FORM,
        place(document, file),
        entrypoint="llm",
        words=(Word("--model", place(model, file)), word(model, file)) if model else (),
        keywords=tuple(own),
        env=environment(child(document, "env_vars"), file),
    )


def _evaluation(document: yaml.Node, file: InputFile) -> ParsedEngine:
    from scheduler_reader.parse.embedded import embedded
    from scheduler_reader.parse.option_text import option_text_words

    if child(document, "server_args") is None:
        return _harness(document, file)
    arguments = child(document, "server_args")
    model = child(document, "model_name")
    words: tuple[Word, ...] = (word(model, file),) if model is not None else ()
    if arguments is not None:
        words += option_text_words(embedded(arguments, file))
    return ParsedEngine(
        FORM, place(document, file), words=words, env=environment(child(document, "env"), file)
    )
