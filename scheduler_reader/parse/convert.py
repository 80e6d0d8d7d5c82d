"""One option's text → typed value, as the converters of vLLM's argument parser do it.

Sources: vllm/engine/arg_utils.py (`get_kwargs`, `optional_type`, `nullable_kvs`), and
`human_readable_int` in vllm/utils/argparse_utils.py, 0.8.5-0.33.0.
"""

from __future__ import annotations

import json
import re
from typing import Any

from scheduler_reader.knowledge.flags import Flag

MULTIPLIERS = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
}
HUMAN_INT = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
KEY_VALUE_PAIRS = re.compile(r"[\w-]+=\d+(,[\w-]+=\d+)*")
JSON_OBJECT = re.compile(r"\s*\{.*\}\s*", re.DOTALL)
TRUTH = {"true": True, "false": False}


class ConversionError(Exception):
    """The text is no value of the option; the message completes `--option …`."""


class ChoiceError(ConversionError):
    """The text converts, but is not one of the option's choices."""


def convert(flag: Flag, text: str) -> Any:
    """The value that the release of `flag` reads from `text`; raises `ConversionError`."""
    if flag.optional and text in {"", "None"}:
        return None
    value = _typed(flag, text)
    if isinstance(flag.choices, tuple) and value not in flag.choices:
        known = ", ".join(str(choice) for choice in flag.choices if choice is not None)
        raise ChoiceError(f"does not know {text!r}; it knows {known}")
    return value


def convert_leniently(flag: Flag, text: str) -> Any:
    """What the text says, whatever release reads it: the typed value, else the text itself."""
    try:
        return _typed(flag, text)
    except ConversionError:
        pass
    if takes_json(flag) and KEY_VALUE_PAIRS.fullmatch(text):
        return key_value_pairs(text)
    if flag.name == "--compilation-config" and re.fullmatch("[0-9]{1,3}", text):
        return {"level": int(text)}
    return text


def takes_json(flag: Flag) -> bool:
    """Whether the option's value is one JSON object, and dotted keys make sense."""
    return flag.type.startswith("json") or flag.type in {"from_cli", "from_json", "kv_pairs"}


def guess(text: str) -> Any:
    """A value of an option that no vLLM release has (a plugin's): number, JSON object or text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if JSON_OBJECT.fullmatch(text):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def dotted_value(text: str, human_integers: bool) -> Any:
    """The value of `--config.key VALUE`: JSON, else (newer releases) a human integer, else text."""
    try:
        return load_json(text)
    except ConversionError:
        pass
    if human_integers:
        try:
            return human_integer(text)
        except ConversionError:
            pass
    return text


def human_integer(text: str) -> int:
    """`4k` is 4,000, `4K` 4,096, `25.6k` 25,600; a binary suffix takes no decimals."""
    match = HUMAN_INT.fullmatch(text.strip())
    if match is None:
        return _integer(text)
    number, suffix = match.groups()
    if suffix.islower():
        return int(float(number) * MULTIPLIERS[suffix])
    if "." in number:
        raise ConversionError(f"takes no decimals before {suffix}: write {number}{suffix.lower()}")
    return int(number) * MULTIPLIERS[suffix]


def key_value_pairs(text: str) -> dict[str, int]:
    """`image=4,video=2`, the form of --limit-mm-per-prompt up to 0.8.4."""
    pairs = {}
    for item in text.split(","):
        key, equals, number = item.partition("=")
        if not equals or "=" in number:
            raise ConversionError(f"takes KEY=NUMBER pairs, not {text!r}")
        pairs[key.strip().lower()] = _integer(number)
    return pairs


def load_json(text: str) -> Any:
    """JSON text as a value; nesting that exhausts the parser is an error like any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise ConversionError(f"takes JSON; {_shortened(text)!r} is none ({reason})") from None


def _typed(flag: Flag, text: str) -> Any:
    kind = flag.type
    if kind == "int" or (kind == "str" and type(flag.default) is int):
        return _integer(text)
    if kind == "human_int":
        return human_integer(text)
    if kind == "human_int_or_auto":
        return -1 if text.strip().lower() in {"auto", "-1"} else human_integer(text)
    if kind == "float":
        return _float(text)
    if kind == "bool-value" or flag.is_switch:
        return _boolean(text)
    if kind == "kv_pairs":
        return key_value_pairs(text)
    if kind == "json_or_str":
        return load_json(text) if JSON_OBJECT.fullmatch(text) else text
    if kind == "from_cli" and text in {"0", "1", "2", "3"}:
        return {"level": int(text)}
    if takes_json(flag):
        return _json_for(flag, text)
    return text


def _json_for(flag: Flag, text: str) -> Any:
    value = load_json(text)
    if (":" in flag.type or flag.type in {"from_cli", "from_json"}) and not isinstance(value, dict):
        raise ConversionError(f"takes a JSON object, not {_shortened(text)!r}")
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConversionError(f"takes an integer, not {_shortened(text)!r}") from None


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConversionError(f"takes a number, not {_shortened(text)!r}") from None


def _boolean(text: str) -> bool:
    try:
        return TRUTH[text.strip().lower()]
    except KeyError:
        raise ConversionError(f"takes true or false, not {_shortened(text)!r}") from None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
