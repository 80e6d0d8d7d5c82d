"""Whether the values of a `config.json` have the types that its readers count on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_KINDS = (("lists", list, "list"), ("mappings", Mapping, "mapping"), ("texts", str, "text"))


def checked(config: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The config with lists of one and the same number as that number.

    `known` is `compat_matrix/model_config.yaml`.  Raises `ValueError` that names the first key
    whose value has another type than models give it.
    """
    checked = dict(config)
    for key in _whole_numbers(known):
        if config.get(key) is not None:
            checked[key] = _whole_number(key, config[key])
    for group, kind, word in _KINDS:
        for key in known[group]:
            if config.get(key) is not None and not isinstance(config[key], kind):
                raise ValueError(f"{key} is no {word}: {config[key]!r}")
    return checked


def _whole_numbers(known: Mapping[str, Any]) -> Iterator[str]:
    for field, keys in known["spellings"].items():
        if field != "dtype":
            yield from keys
    yield from known["max_position_embeddings"]


def _whole_number(key: str, value: object) -> int:
    if isinstance(value, list) and value and value == value[:1] * len(value):
        value = value[0]  # Gemma 3n lists an equal size for each layer
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} is no whole number: {value!r}")
    return value
