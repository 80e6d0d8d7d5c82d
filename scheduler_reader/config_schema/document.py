"""The whole schema: every key that a config file of the release may have, in both spellings."""

from __future__ import annotations

import json
from typing import Any

from scheduler_reader.config_schema.fields import class_definitions
from scheduler_reader.config_schema.forms import ANY, BOOLEAN, Schema
from scheduler_reader.config_schema.values import takes_object, value_schema
from scheduler_reader.data import documents
from scheduler_reader.knowledge.config_fields import config_class
from scheduler_reader.knowledge.flags import Flag, FlagTable, flag_table
from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.knowledge.versions import Release

DRAFT = "http://json-schema.org/draft-07/schema#"  # what the YAML servers of editors read
NOT_IN_A_FILE = ("--config", "--help")


def config_schema(release: Release) -> Schema:
    """JSON Schema (draft 7) of the file that `vllm serve --config` of the release reads."""
    table = flag_table(release)
    flags = [flag for name, flag in table.flags.items() if name not in NOT_IN_A_FILE]
    definitions: dict[str, Schema] = {}
    properties: dict[str, Schema] = {}
    for flag in flags:
        definitions[flag.argument] = _option(flag, release.name)
        for key in _keys(flag):
            if table.find(f"--{key}") != table.names[f"--{key}"]:
                continue
            if table.names[f"--{key}"].negative:
                definitions[key] = BOOLEAN | {"description": f"Switches {flag.argument} off."}
                properties |= dict.fromkeys(_spellings(key), _reference(key))
            else:
                properties |= dict.fromkeys(_spellings(key), _reference(flag.argument))
    classes = {
        name
        for flag in flags
        if takes_object(flag, release.name) and (name := config_class(flag)) is not None
    }
    return {
        "$schema": DRAFT,
        "title": f"vllm serve --config, vLLM {release.name}",
        "type": "object",
        "properties": properties,
        "patternProperties": _dotted_keys(table, release.name),
        "additionalProperties": False,
        "definitions": definitions | class_definitions(classes, release),
    }


def _keys(flag: Flag) -> list[str]:
    """The long names of the option, without the dashes before them."""
    return [name[2:] for name in (flag.name, *flag.aliases) if name.startswith("--")]


def _spellings(key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((key, key.replace("-", "_"))))


def _reference(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _dotted_keys(table: FlagTable, release: str) -> dict[str, Schema]:
    """`speculative-config.method` builds the JSON of `speculative-config`."""
    if not parser_behaves(release, "dotted_keys"):
        return {}
    options = (flag.argument for flag in table.flags.values() if flag.type.startswith("json"))
    names = "|".join(argument.replace("_", "[-_]") for argument in options)
    return {f"^({names})\\.[^ ]+$": ANY}


def _option(flag: Flag, release: str) -> Schema:
    schema = dict(value_schema(flag, release))
    if flag.default is not None and not _is_dynamic(flag.default):
        schema["default"] = flag.default
    schema["description"] = _description(flag)
    if flag.deprecated is not None:
        schema["deprecated"] = True
    return schema


def _description(flag: Flag) -> str:
    controls: dict[str, str] = documents("compat_matrix")["defaults/controls.yaml"]["controls"]
    sentences = [controls.get(flag.argument, ""), _default(flag)]
    if flag.type == "bool" and flag.default is not False:
        negative = next((name for name in flag.aliases if name.startswith("--no-")), None)
        if negative:
            sentences.append(f"vLLM drops false here; write {negative[2:]}: true.")
    if flag.deprecated is not None:
        removal = flag.deprecated.get("removal")
        sentences.append(f"Deprecated{f', to be removed in {removal}' if removal else ''}.")
    return " ".join(filter(None, sentences))


def _default(flag: Flag) -> str:
    if flag.default is None:
        return "Without it vLLM decides."
    if _is_dynamic(flag.default):
        return "The default is known when vLLM runs."
    return f"Default {json.dumps(flag.default, ensure_ascii=False)}."


def _is_dynamic(value: Any) -> bool:
    return isinstance(value, dict) and "dynamic" in value
