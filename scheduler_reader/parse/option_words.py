"""Cut the words of a command line into options with their values, and positional words.

The rules are argparse's (exact names, `--name=value`, unique prefixes, negative numbers and words
with a blank are no options) and those that vLLM's `FlexibleArgumentParser` puts before them:
dotted keys, `-O3`.  A word that takes its text from elsewhere (`$EXTRA`) is never an option name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scheduler_reader.knowledge.flags import (
    Flag,
    FlagTable,
    Match,
    any_release_table,
    flag_table,
    normalized,
)
from scheduler_reader.knowledge.versions import latest
from scheduler_reader.parse.convert import TRUTH
from scheduler_reader.parse.source import Word
from scheduler_reader.record import Record

NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
LEVELS = frozenset("0123")
OPTIMIZATION_SHORT = re.compile(r"-O(?:=)?(?P<level>[^.=].*)")


class Argument(Record):
    """One option as written, the flag(s) it may mean, and the words that are its values."""

    word: Word
    option: str  # normalised, without dotted keys and value
    found: Match | tuple[str, ...]  # an empty tuple: the table has nothing that starts so
    values: tuple[Word, ...] = ()
    keys: tuple[str, ...] = ()  # --option.key.key
    appends: bool = False  # --option.key+ a,b
    inline: bool = False  # --option=value

    @property
    def written(self) -> str:
        """The option as it stands in the file, without an inline value."""
        return self.word.text.partition("=")[0]


def cut(words: Sequence[Word], table: FlagTable, dotted: bool) -> list[Argument | Word]:
    """Options with their values and positional words, in order.

    `dotted` says whether the release builds JSON from `--option.key value`.
    """
    pieces: list[Argument | Word] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.text == "--" and not word.unknown:
            pieces += words[position:]
            break
        if word.text == "-O" and position < len(words) and words[position].text in LEVELS:
            word = words[position]._replace(text=f"-O{words[position].text}")
            position += 1
        argument = _option(word, table, dotted)
        if argument is None:
            pieces.append(word)
            continue
        if not argument.inline:
            values = _values(argument, words[position:], table, dotted)
            position += len(values)
            argument = argument._replace(values=values)
        pieces.append(argument)
    return pieces


def _option(word: Word, table: FlagTable, dotted: bool) -> Argument | None:
    """The option a word names, or None when the word is a value or positional."""
    text = word.text
    if not text.startswith("-") or text == "-" or NEGATIVE_NUMBER.fullmatch(text):
        return None
    optimization = _optimization(word, table)
    if optimization is not None:
        return optimization
    head, equals, value = text.partition("=")
    if any(character.isspace() for character in head) or (word.unknown and "$" in head):
        return None
    values = (Word(value, word.origin, word.unknown),) if equals else ()
    if dotted and "." in head:
        name, *keys = head.removesuffix("+").split(".")
        option = normalized(name)
        return Argument(
            word,
            option,
            _find(option, table),
            values,
            tuple(keys),
            appends=head.endswith("+"),
            inline=bool(equals),
        )
    option = normalized(head)
    found = _find(option, table)
    attached = table.names.get(option[:2])
    if not found and attached and not option.startswith("--") and len(option) > 2:
        rest = Word(text[2:], word.origin, word.unknown)
        return Argument(word, option[:2], attached, (rest,), inline=True)
    return Argument(word, option, found, values, inline=bool(equals))


def _optimization(word: Word, table: FlagTable) -> Argument | None:
    """`-O3`, `-O=3`: the level of the compilation config, later a setting of its own."""
    match = OPTIMIZATION_SHORT.fullmatch(word.text)
    if match is None:
        return None
    level = (Word(match["level"], word.origin, word.unknown),)
    short = table.names.get("-O")
    if short is not None:
        return Argument(word, "-O", short, level, keys=("level",), inline=True)
    option = "--optimization-level"
    return Argument(word, option, table.find(option), level, inline=True)


def _find(option: str, table: FlagTable) -> Match | tuple[str, ...]:
    found = table.find(option)
    if found == () or isinstance(found, Match) or table.release is not None:
        return found
    return flag_table(latest().name).find(option) or found


def _values(
    argument: Argument, following: Sequence[Word], table: FlagTable, dotted: bool
) -> tuple[Word, ...]:
    """The words after an option that are its values."""
    if argument.keys:
        return tuple(following[:1])
    flag = likely_flag(argument)
    if flag is not None and flag.is_switch:
        return tuple(w for w in following[:1] if w.text.lower() in TRUTH)
    limit = None if flag is not None and flag.nargs in {"+", "*"} else 1
    return tuple(_leading_values(following[:limit], table, dotted))


def _leading_values(words: Iterable[Word], table: FlagTable, dotted: bool) -> Iterable[Word]:
    for count, word in enumerate(words):
        if _option(word, table, dotted) is not None or word.text == "--":
            return
        if count and word.unknown and word.text.startswith("$"):
            return  # more likely a splice of further arguments than one more list item
        yield word


def likely_flag(argument: Argument) -> Flag | None:
    """The flag behind an argument; for one the release does not know, as other releases have it."""
    if isinstance(argument.found, Match):
        return argument.found.flag
    names = any_release_table().names
    option = argument.found[0] if argument.found else argument.option
    return names[option].flag if option in names else None
