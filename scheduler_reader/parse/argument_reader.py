"""The state of one reading: settings, issues and the model, filled argument by argument."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from scheduler_reader.knowledge.flags import Flag, FlagTable, Match
from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.parse.convert import (
    KEY_VALUE_PAIRS,
    ChoiceError,
    ConversionError,
    convert,
    convert_leniently,
    dotted_value,
    guess,
    key_value_pairs,
    takes_json,
)
from scheduler_reader.parse.flag_issues import deprecation, refusal
from scheduler_reader.parse.option_words import Argument, cut
from scheduler_reader.parse.reading import FlagIssue, FlagReading, IssueKind
from scheduler_reader.parse.source import Entrypoint, Word
from scheduler_reader.value import Known, Origin, Unknown, Value

SPLICE = re.compile(
    r"^\$(?:[@*]$|\{(?:[@*]|\w+\[[@*]\]))"
)  # `$@`, `${ARGS[@]}`: any number of words


class ArgumentReader:
    """Reads word lists in the order of precedence (later ones win) into one `FlagReading`."""

    def __init__(self, entrypoint: Entrypoint, table: FlagTable) -> None:
        self.entrypoint = entrypoint
        self.table = table
        self.release = table.release
        self.settings: dict[str, Value[Any]] = {}
        self.model: Value[str] | None = None
        self.unresolved: dict[str, str] = {}
        self.has_model_tag = False
        self.issues: list[FlagIssue] = []

    def reading(self) -> FlagReading:
        return FlagReading(
            self.release or "", self.model, self.settings, tuple(self.issues), self.unresolved
        )

    def issue(
        self, kind: IssueKind, flag: str, what: str, origin: Origin, *, fatal: bool = True
    ) -> None:
        """Note what the release does with an argument; a faithful reading has no opinion."""
        if self.release is not None:
            message = f"vLLM {self.release}: {what}"
            self.issues.append(FlagIssue(kind, flag, message, origin, fatal))

    def read(self, words: Sequence[Word], dotted: bool) -> None:
        """Read one list of words: a config file's, or the command line's."""
        seen: set[str] = set()
        built: dict[str, tuple[Argument, dict[str, Any] | Unknown]] = {}
        positional: list[Word] = []
        for piece in cut(words, self.table, dotted):
            if isinstance(piece, Word):
                positional.append(piece)
            elif piece.keys:
                self._build(piece, built)
            else:
                self._take(piece, seen)
        for argument, value in built.values():
            self._take_built(argument, value, seen)
        self._take_positional(positional)

    def _take(self, argument: Argument, seen: set[str]) -> None:
        if not isinstance(argument.found, Match):
            self._take_unknown(argument)
            return
        flag = argument.found.flag
        value = self._value(argument, argument.found)
        if value is None:
            return
        if flag.action == "append" and flag.argument in seen:
            value = _appended(self.settings[flag.argument], value)
        elif flag.argument in seen and isinstance(value, Known) and self._is_known(flag):
            what = f"{flag.name} is given twice; the last one wins"
            self.issue("repeated", argument.written, what, argument.word.origin, fatal=False)
        self._set(argument, flag, value, seen)

    def _is_known(self, flag: Flag) -> bool:
        """Whether the value read so far is one; what branches may add is given once at most."""
        return isinstance(self.settings.get(flag.argument), Known)

    def _set(self, argument: Argument, flag: Flag, value: Value[Any], seen: set[str]) -> None:
        seen.add(flag.argument)
        if self.release is not None:
            self.issues += deprecation(argument, flag, self.release)
        if flag.argument == "model":
            self.model = value
        else:
            self.settings[flag.argument] = value

    def _value(self, argument: Argument, found: Match) -> Value[Any] | None:
        """The typed value; None when the release refuses the argument and there is none."""
        flag, origin, values = found.flag, argument.word.origin, argument.values
        unknown = next((word.unknown for word in (argument.word, *values) if word.unknown), None)
        if flag.is_switch:
            return self._switch(argument, found, unknown)
        if unknown is not None:
            return Unknown(unknown, origin)
        if not values:
            return self._without_value(argument, flag)
        try:
            typed = [self._convert(flag, word.text) for word in values]
        except ConversionError as error:
            kind: IssueKind = "bad_choice" if isinstance(error, ChoiceError) else "wrong_type"
            what = f"{flag.name} {error}"
            self.issue(kind, argument.written, what, values[0].origin)
            return Unknown(what, origin)
        place = values[0].origin if len(values) == 1 else origin
        return Known(typed if flag.is_list else typed[0], place)

    def _convert(self, flag: Flag, text: str) -> Any:
        if self.release is not None:
            if self._is_key_value_object(flag, text):
                return key_value_pairs(text)
            return convert(flag, text)
        if flag.optional and text == "None":
            return None
        return convert_leniently(flag, text)

    def _is_key_value_object(self, flag: Flag, text: str) -> bool:
        """Whether the release reads `image=4` for an option of the engine that takes JSON."""
        is_pairs = flag.type == "json" and flag.field and KEY_VALUE_PAIRS.fullmatch(text)
        return bool(is_pairs) and parser_behaves(self.release or "", "key_value_objects")

    def _switch(self, argument: Argument, found: Match, unknown: str | None) -> Value[Any]:
        origin = argument.word.origin
        if not argument.values:
            return Unknown(unknown, origin) if unknown else Known(not found.negative, origin)
        if self.release is not None:
            text = argument.values[0].text
            what = f"{argument.written} is a switch and takes no value ({text!r})"
            self.issue("unexpected_value", argument.written, what, origin)
            return Unknown(what, origin)
        if unknown is not None:
            return Unknown(unknown, origin)
        said = convert_leniently(found.flag, argument.values[0].text)
        if isinstance(said, bool):
            said = said != found.negative
        return Known(said, origin)

    def _without_value(self, argument: Argument, flag: Flag) -> Value[Any] | None:
        if flag.nargs == "?":
            const = True if flag.const in {"True", True} else flag.const
            return Known(const, argument.word.origin)
        what = f"{flag.name} needs a value"
        self.issue("missing_value", argument.written, what, argument.word.origin)
        return Unknown(what, argument.word.origin)

    def _take_unknown(self, argument: Argument) -> None:
        if self.release is not None:
            issue = refusal(argument, self.table, self.release)
            is_of_wrapper = self.entrypoint == "dynamo" and issue.kind == "unknown"
            self.issues += [] if is_of_wrapper else [issue]  # Dynamo's worker has its own options
            return
        name = argument.option.lstrip("-").replace("-", "_")
        words = (argument.word, *argument.values)
        unknown = next((word.unknown for word in words if word.unknown), None)
        if unknown is not None:
            self.settings[name] = Unknown(unknown, argument.word.origin)
        elif argument.values:
            self.settings[name] = Known(guess(argument.values[0].text), argument.word.origin)
        elif name.startswith("no_"):
            self.settings[name.removeprefix("no_")] = Known(False, argument.word.origin)
        else:
            self.settings[name] = Known(True, argument.word.origin)

    def _build(
        self, argument: Argument, built: dict[str, tuple[Argument, dict[str, Any] | Unknown]]
    ) -> None:
        """Merge `--option.key value` into the JSON value that the dotted options build."""
        first, target = built.setdefault(argument.option, (argument, {}))
        if not argument.values:
            what = f"{argument.written} needs a value"
            self.issue("missing_value", argument.written, what, argument.word.origin)
            return
        word = argument.values[0]
        unknown = argument.word.unknown or word.unknown
        if unknown:
            built[argument.option] = (first, Unknown(unknown, argument.word.origin))
        elif isinstance(target, dict):
            _merge(target, argument.keys, self._dotted(argument, word.text))

    def _dotted(self, argument: Argument, text: str) -> Any:
        if argument.appends:
            return text.split(",")
        if text in {"True", "False"}:
            return text == "True"
        human = self.release is None or parser_behaves(self.release, "dotted_human_integers")
        return dotted_value(text, human)

    def _take_built(
        self, argument: Argument, value: dict[str, Any] | Unknown, seen: set[str]
    ) -> None:
        """A value built from dotted options comes last, so it replaces one given as JSON."""
        origin = argument.word.origin
        whole = Word(json.dumps(value) if isinstance(value, dict) else "", origin)
        if isinstance(value, Unknown):
            whole = Word("", origin, value.reason)
        if isinstance(argument.found, Match) and takes_json(argument.found.flag):
            flag = argument.found.flag
            if flag.argument in seen:
                what = f"the dotted options replace the value given to {flag.name}"
                self.issue("repeated", argument.written, what, origin, fatal=False)
            known = value if isinstance(value, Unknown) else Known(value, origin)
            self._set(argument, flag, known, seen)
        else:
            self._take(
                Argument(argument.word, argument.option, argument.found, (whole,), inline=True),
                seen,
            )

    def _take_positional(self, words: list[Word]) -> None:
        tag_is_free = self.entrypoint == "serve"
        splices = [word for word in words if word.unknown and SPLICE.search(word.text)]
        for word in splices:
            self.unresolved["*extra_args"] = word.unknown or ""
        if len(splices) < len(words) or not tag_is_free:
            words = [word for word in words if word not in splices]
        for word in words:
            if tag_is_free and (self.model is None or self.release is not None):
                self.model = self._positional_model(word)
                tag_is_free = False
            elif word.unknown:
                self.unresolved["*extra_args"] = word.unknown
            else:
                self._stray(word)

    def _positional_model(self, word: Word) -> Value[str]:
        if word.unknown:
            return Unknown(word.unknown, word.origin)
        return Known(word.text, word.origin)

    def _stray(self, word: Word) -> None:
        if word.text.startswith("-"):
            reason = f"{word.text}: option and value in one word, which the parser takes for a name"
            self.unresolved["*invalid_arg"] = reason
        if (
            self.entrypoint == "api_server"
            and not self.has_model_tag
            and self.release is not None
            and parser_behaves(self.release, "api_server_model_tag")
        ):
            self.has_model_tag = True  # one word; the parser refuses a second
            what = f"{word.text!r} is stored as model_tag and never read"
            self.issue("dropped", word.text, what, word.origin, fatal=False)
        else:
            self.issue("stray", word.text, f"{word.text!r} belongs to no option", word.origin)


def _appended(before: Value[Any], value: Value[Any]) -> Value[Any]:
    if isinstance(before, Unknown):
        return before
    if isinstance(value, Unknown):
        return value
    return Known([*before.value, *value.value], value.origin)


def _merge(target: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Set a nested key; lists given piece by piece grow (`--option.key+`)."""
    *parents, last = keys
    for key in parents:
        child = target.get(key)
        if not isinstance(child, dict):
            child = target[key] = {}
        target = child
    if isinstance(value, list) and isinstance(target.get(last), list):
        target[last] += value
    else:
        target[last] = value
