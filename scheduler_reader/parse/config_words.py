"""The entries of a `--config` file as the words that vLLM puts before the command line.

vLLM has no typed reading of its config file: every entry becomes one or more words, and the
argument parser reads those.  That is where its traps come from: `key: false` leaves no word at
all, `key: null` leaves the text `None`.
Source: `FlexibleArgumentParser.load_config_file`, 0.8.5-0.33.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from scheduler_reader.knowledge.flags import FlagTable, Match
from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.parse.source import ConfigEntry, Entrypoint, Word
from scheduler_reader.record import Record


class ConfigWords(Record):
    """The words of a config file, and what the release loses of its entries."""

    words: tuple[Word, ...]
    dropped: tuple[tuple[ConfigEntry, str], ...] = ()


def words_as_written(entries: Iterable[ConfigEntry]) -> ConfigWords:
    """What the file says, whatever a release does with it: `key: false` is `--key=false`."""
    words: list[Word] = []
    for entry in entries:
        option = f"--{entry.key}"
        if isinstance(entry.value, list):
            words.append(Word(option, entry.origin))
            words += [_word(entry, item) for item in entry.value]
        elif isinstance(entry.value, bool):
            words.append(Word(f"{option}={str(entry.value).lower()}", entry.origin))
        else:
            words += [Word(option, entry.origin), _word(entry, entry.value)]
    return ConfigWords(tuple(words))


def words_of_release(
    entries: Iterable[ConfigEntry], table: FlagTable, release: str, entrypoint: Entrypoint
) -> ConfigWords:
    """The words that one release makes of the entries."""
    words: list[Word] = []
    dropped: list[tuple[ConfigEntry, str]] = []
    for entry in entries:
        option, value = f"--{entry.key}", entry.value
        if entry.unknown:
            words += [Word(option, entry.origin), _word(entry, value)]
        elif isinstance(value, bool) and not _is_boolean_value(table, entry.key):
            if value:
                words.append(Word(option, entry.origin))
            elif _becomes_negative(table, release, entry.key, entrypoint):
                words.append(Word(f"--no-{entry.key}", entry.origin))
            else:
                dropped.append((entry, f"`{entry.key}: false` is dropped and the default stays"))
        elif isinstance(value, list) and parser_behaves(release, "config_lists"):
            if value:
                words.append(Word(option, entry.origin))
                words += [Word(str(item), entry.origin) for item in value]
            else:
                dropped.append((entry, f"`{entry.key}: []` is dropped and the default stays"))
        elif isinstance(value, dict) and parser_behaves(release, "config_maps"):
            words += [Word(option, entry.origin), Word(_json(value), entry.origin)]
        else:
            if isinstance(value, list):
                dropped.append((entry, f"the list `{entry.key}` is passed on as one text"))
            words += [Word(option, entry.origin), Word(str(value), entry.origin)]
    return ConfigWords(tuple(words), tuple(dropped))


def words_of_keywords(entries: Iterable[ConfigEntry], table: FlagTable) -> tuple[Word, ...]:
    """The words that say the same to the argument parser as keyword arguments of `EngineArgs`.

    `x=False` is `--no-x`; where the release's parser has no such word, it is the default of a
    plain switch and says nothing.  `x=None` is the default.
    """
    words: list[Word] = []
    for entry in entries:
        value, option = entry.value, "--" + entry.key.replace("_", "-")
        if isinstance(value, bool) and not _is_boolean_value(table, entry.key):
            negative = option.replace("--", "--no-", 1)
            if value:
                words.append(Word(option, entry.origin))
            elif negative in table.names or option not in table.names:
                words.append(Word(negative, entry.origin))
        elif isinstance(value, list):
            words.append(Word(option, entry.origin))
            words += [_word(entry, item) for item in value]
        elif value is not None:
            words += [Word(option, entry.origin), _word(entry, value)]
    return tuple(words)


def _is_boolean_value(table: FlagTable, key: str) -> bool:
    """Old options that take `true`/`false` as a value; vLLM compares the key with underscores."""
    flag = table.argument(key)
    return flag is not None and flag.type == "bool-value" and flag.argument == key


def _becomes_negative(table: FlagTable, release: str, key: str, entrypoint: Entrypoint) -> bool:
    """`vllm serve` asks the top-level parser, which has none of the engine's options."""
    if entrypoint != "api_server" or not parser_behaves(release, "config_false_negates"):
        return False
    match: Match | None = table.names.get(f"--no-{key}")
    return match is not None


def _word(entry: ConfigEntry, value: Any) -> Word:
    text = _json(value) if isinstance(value, dict | list) else str(value)
    return Word(text, entry.origin, entry.unknown)


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
