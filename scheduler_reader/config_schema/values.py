"""What an option's value may be in a config file of one release.

vLLM turns every entry into words of a command line (`parse/config_words.py`), so a value is right
when its text is: `"8"` is as good as `8`, and a list is for options that take several words.
"""

from __future__ import annotations

from scheduler_reader.config_schema.forms import (
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Schema,
    any_of,
    array,
)
from scheduler_reader.config_schema.limits import limits
from scheduler_reader.knowledge.config_fields import config_class
from scheduler_reader.knowledge.flags import Flag
from scheduler_reader.knowledge.parser_behaviour import parser_behaves

INTEGER_TEXT: Schema = {"type": "string", "pattern": r"^\s*[-+]?[0-9]+\s*$"}
NUMBER_TEXT: Schema = {
    "type": "string",
    "pattern": r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$",
}
HUMAN_INTEGER: Schema = {
    "type": "string",
    "pattern": r"^\s*([0-9]+[KMGTkmgt]?|[0-9]+\.[0-9]+[kmgt])\s*$",
}
AUTO: Schema = {"type": "string", "pattern": r"^\s*(-1|[aA][uU][tT][oO])\s*$"}
JSON_TEXT: Schema = {"type": "string", "pattern": r"^\s*[\[{]"}
KEY_NUMBER_PAIRS: Schema = {"type": "string", "pattern": r"^[\w-]+=[0-9]+(,[\w-]+=[0-9]+)*$"}
BOOLEAN_TEXT: Schema = {"enum": ["true", "false", "True", "False"]}


def value_schema(flag: Flag, release: str) -> Schema:
    """The values that a config file may give the option."""
    if flag.is_switch:
        return BOOLEAN
    if flag.type == "bool-value":
        return any_of(BOOLEAN, BOOLEAN_TEXT)
    word = _chosen(flag) or _typed(flag, release)
    forms = [word]
    if flag.nargs in {"+", "*"}:
        forms += [array(word)] if parser_behaves(release, "config_lists") else []
    elif flag.optional or (isinstance(flag.choices, tuple) and None in flag.choices):
        forms.append(NULL)
    if flag.nargs == "?":
        forms.append(BOOLEAN)  # the option without a value
    return any_of(*forms)


def takes_object(flag: Flag, release: str) -> bool:
    """Whether the option may be a mapping in the file, rather than its JSON in quotes."""
    return _is_json(flag) and parser_behaves(release, "config_maps")


def _is_json(flag: Flag) -> bool:
    return flag.type.startswith("json") or flag.type in {"from_cli", "from_json"}


def _chosen(flag: Flag) -> Schema | None:
    """The choices that the parser enforces; None where it enforces none that are known."""
    if not isinstance(flag.choices, tuple) or any(isinstance(word, dict) for word in flag.choices):
        return None
    words = [word for word in flag.choices if word is not None]
    if flag.type == "custom":  # vLLM lowers the word and takes dashes for underscores
        words += [word.replace("_", "-") for word in words if "_" in word]
    if flag.type == "int":
        words += [str(word) for word in words]
    return {"enum": words}


def _typed(flag: Flag, release: str) -> Schema:
    bounds = limits(flag.argument, release)
    integer = INTEGER | bounds
    known = {
        "int": any_of(integer, INTEGER_TEXT),
        "float": any_of(NUMBER | bounds, NUMBER_TEXT),
        "human_int": any_of(integer, HUMAN_INTEGER),
        "human_int_or_auto": any_of(integer, {"const": -1}, HUMAN_INTEGER, AUTO),
        "kv_pairs": KEY_NUMBER_PAIRS,
    }
    if flag.type in known:
        return known[flag.type]
    if type(flag.default) is int:  # an enumeration of levels
        return known["int"]
    if not _is_json(flag):
        text = any_of(STRING, NUMBER)
        return any_of({"enum": list(flag.suggested)}, text) if flag.suggested else text
    forms = [STRING if flag.type == "json_or_str" else JSON_TEXT]
    if takes_object(flag, release):
        name = config_class(flag)
        forms.append({"$ref": f"#/definitions/{name}"} if name else OBJECT)
    if flag.type == "from_cli":
        forms.append({"enum": [0, 1, 2, 3, "0", "1", "2", "3"]})  # a compilation level
    return any_of(*forms)
