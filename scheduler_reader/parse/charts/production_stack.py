"""The vLLM production-stack chart: `servingEngineSpec.modelSpec[].vllmConfig`.

Source: production-stack, helm/templates/deployment-vllm-multi.yaml and ray-cluster.yaml.  The
operator's VLLMRuntime has fields of the same names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import yaml

from scheduler_reader.parse.argument_names import argument_named
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.image_version import known_release, release_of_image
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import cores, count, kubernetes_bytes
from scheduler_reader.parse.source import ParsedEngine, Problem, Word
from scheduler_reader.parse.yaml_arguments import (
    environment,
    is_true,
    plain_text,
    text_of,
    text_word,
    word,
    words,
)
from scheduler_reader.parse.yaml_nodes import Entry, child, entries, items, place, value_of
from scheduler_reader.value import Known, Value

SPEC = "servingEngineSpec"
PORT = "8000"
V0_CONNECTOR, V1_CONNECTOR = "LMCacheConnector", "LMCacheConnectorV1"
OTHER_KEYS = frozenset(  # of vllmConfig: the chart's own, no arguments
    {"v0", "v1", "env", "extraArgs", "prometheusMultiprocDir", "resources"}
)
MODEL_ARGUMENTS = frozenset({"max_model_len", "dtype", "max_num_seqs"})  # VLLMRuntime: spec.model
PRINTED_KEYS = {  # of modelSpec: printed when they are not empty
    "enableLoRA": "--enable-lora",
    "enableTool": "--enable-auto-tool-choice",
    "toolCallParser": "--tool-call-parser",
    "chatTemplate": "--chat-template",
    "modelRevision": "--revision",
}


def engine_spec(document: yaml.Node) -> yaml.Node | None:
    """The chart's engine values, at the top or under the name of the subchart."""
    spec = child(document, SPEC)
    if spec is not None:
        return spec
    nested = (child(entry.node, SPEC) for entry in entries(document))
    return next((node for node in nested if node is not None), None)


def read_engines(
    spec: yaml.Node, file: InputFile, form: str
) -> tuple[list[ParsedEngine], list[Problem]]:
    """One engine for each model of the chart's values."""
    engines: list[ParsedEngine] = []
    problems: list[Problem] = []
    port = child(spec, "containerPort")
    for model in items(child(spec, "modelSpec")):
        config = child(model, "vllmConfig")
        problems += unknown_keys(config, file)
        image = f"{plain_text(child(model, 'repository'))}:{plain_text(child(model, 'tag'))}"
        origin = place(model, file)
        engines.append(
            ParsedEngine(
                form,
                origin,
                name=plain_text(child(model, "name")),
                words=engine_words(model, config, file),
                implied=tuple(_implied(model, config, port, file)),
                env=engine_env(config, file) | environment(child(model, "env"), file),
                image_version=known_release(
                    release_of_image(image), place(child(model, "tag") or model, file)
                ),
                unresolved=_unresolved(model),
                deployment=_deployment(model, file),
            )
        )
    return engines, problems


def engine_words(model: yaml.Node, config: yaml.Node | None, file: InputFile) -> tuple[Word, ...]:
    """The arguments that the values state, in the order of the template."""
    found: list[Word] = []
    url = child(model, "modelURL")
    if url is not None:
        found.append(word(url, file))
    for entry in entries(model):
        option = PRINTED_KEYS.get(entry.key)
        if option is not None and is_true(entry.node):
            found += _printed(option, entry, file)
        elif option is None and argument_named(entry.key) in MODEL_ARGUMENTS:
            found += config_words([entry], file)
    found += config_words(entries(config), file)
    found += words(child(config, "extraArgs"), file)
    return tuple(found)


def config_words(config: Iterable[Entry], file: InputFile) -> Iterator[Word]:
    """`vllmConfig` in camel case as the options that it stands for; booleans as a pair."""
    for entry in config:
        argument = argument_named(entry.key)
        if entry.key in OTHER_KEYS or argument is None or value_of(entry.node) is None:
            continue
        option = "--" + argument.replace("_", "-")
        value = value_of(entry.node)
        if isinstance(value, bool):
            text = option if value else option.replace("--", "--no-", 1)
            yield text_word(text, entry.key_node, file)
        elif isinstance(value, list):
            yield text_word(option, entry.key_node, file)
            yield from words(entry.node, file)
        elif text_of(entry.node):
            yield text_word(option, entry.key_node, file)
            yield word(entry.node, file)


def engine_env(config: yaml.Node | None, file: InputFile) -> dict[str, Value[str]]:
    """The environment that `v0` and `v1` stand for, and the operator's `env`."""
    env = environment(child(config, "env"), file)
    for key, on, off in (("v0", "0", "1"), ("v1", "1", "0")):
        node = child(config, key)
        if node is None:
            continue
        is_on = text_of(node).lower() in {"1", "true"}
        if is_on or key == "v1":
            env["VLLM_USE_V1"] = Known(on if is_on else off, place(node, file))
    return env


def unknown_keys(config: yaml.Node | None, file: InputFile) -> list[Problem]:
    """A problem for every key of `vllmConfig` that names no vLLM argument."""
    problems = []
    for entry in entries(config):
        if entry.key not in OTHER_KEYS and argument_named(entry.key) is None:
            message = f"vllmConfig.{entry.key} is no vLLM argument; give options under extraArgs"
            problems.append(Problem(message, place(entry.key_node, file)))
    return problems


def transfer_config(cache: yaml.Node | None, connector: str, file: InputFile) -> Iterator[Word]:
    """The `--kv-transfer-config` that an enabled LMCache adds."""
    if cache is None or not is_true(child(cache, "enabled")):
        return
    disaggregates = child(cache, "enablePD") is not None
    value: dict[str, object] = {
        "kv_connector": V1_CONNECTOR if disaggregates else connector,
        "kv_role": plain_text(child(cache, "kvRole")) or "kv_both",
    }
    if disaggregates:
        value["kv_connector_extra_config"] = {
            "discard_partial_chunks": False,
            "lmcache_rpc_port": plain_text(child(cache, "nixlRole")) or "",
        }
    origin = place(cache, file)
    yield Word("--kv-transfer-config", origin)
    yield Word(json.dumps(value), origin)


def _implied(
    model: yaml.Node, config: yaml.Node | None, port: yaml.Node | None, file: InputFile
) -> Iterator[Word]:
    """What the template adds by itself; models with a `raySpec` have a template of their own."""
    origin = place(model, file)
    has_ray = child(model, "raySpec") is not None
    cache = child(model, "lmcacheConfig")
    added = ["--host", "0.0.0.0", "--port", plain_text(port) or PORT]
    added += ["--distributed-executor-backend", "ray"] if has_ray else []
    if config is not None and child(config, "enablePrefixCaching") is None and not has_ray:
        added.append("--no-enable-prefix-caching")
    for text in added:
        yield Word(text, origin)
    if has_ray:
        is_v1 = plain_text(child(config, "v1")) == "1"
    else:
        is_v1 = plain_text(child(config, "v0")) != "1"
    yield from transfer_config(cache, V1_CONNECTOR if is_v1 else V0_CONNECTOR, file)


def _deployment(model: yaml.Node, file: InputFile) -> Deployment:
    """What the chart asks for, in keys of its own."""

    def stated(key: str) -> Word | None:
        node = child(model, key)
        return word(node, file) if plain_text(node) is not None and node is not None else None

    return Deployment(
        replicas=count(stated("replicaCount")),
        gpu_request=count(stated("requestGPU")),
        shared_memory_bytes=kubernetes_bytes(stated("shmSize")),
        cpu_limit=cores(stated("limitCPU")),
        memory_limit_bytes=kubernetes_bytes(stated("limitMemory")),
    )


def _printed(option: str, entry: Entry, file: InputFile) -> list[Word]:
    name = text_word(option, entry.key_node, file)
    return [name] if entry.key.startswith("enable") else [name, word(entry.node, file)]


def _unresolved(model: yaml.Node) -> dict[str, str]:
    return {} if child(model, "modelURL") is not None else {"model": "modelURL is not in the file"}
