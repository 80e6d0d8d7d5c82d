"""A shell script's simple commands, with the words and the environment that each of them gets.

The script is read from top to bottom and never run.  A variable has the value that the script
gives it; one that is set in a branch, in a loop, by `read` or by the output of a command is
unknown afterwards.  Commands in branches are all reported: which of them runs is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scheduler_reader.parse.expand import Piece, reference
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_tokens import HereDocument, Operator, ShellWord, Token
from scheduler_reader.parse.shell_variables import (
    Items,
    Variables,
    as_value,
    assignment,
    possibly_longer,
)
from scheduler_reader.parse.source import Word
from scheduler_reader.record import Record
from scheduler_reader.value import Origin, Value

ARMS = frozenset({"then", "do", "else", "elif"})
BLOCKS_OPEN = frozenset({"if", "while", "until", "for", "select", "case"})
BLOCKS_CLOSE = frozenset({"fi", "done", "esac"})
TRANSPARENT = frozenset({"{", "}", "!", "time"})
EXPORTERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
READERS = frozenset({"read", "mapfile", "readarray"})
TESTS = frozenset({"[", "[[", "test"})
MAX_ALTERNATIVES = 16  # values that branches have given one variable


class Command(Record):
    """One simple command: its words after expansion, and the environment it gets."""

    words: tuple[Word, ...]
    env: dict[str, Value[str]]
    heredoc: HereDocument | None = None
    branch: str | None = None  # the pattern of the innermost `case` arm


@dataclass(slots=True)
class _Block:
    """An open `if`, loop or `case`, and the variables as they were before it."""

    kind: str
    before: dict[str, Items]
    changed: dict[str, Origin] = field(default_factory=dict)
    outcomes: dict[str, list[Items]] = field(default_factory=dict)  # by arm that changed it
    label: str | None = None
    in_arm: bool = False


class ShellScript:
    """The state of one reading; `commands` yields the commands in order."""

    def __init__(self, file: InputFile) -> None:
        self.variables = Variables(file)
        self.blocks: list[_Block] = []
        self.is_conditional = False  # after `||`, or after a test and `&&`
        self.alternatives: dict[str, list[str]] = {}  # what branches have made of a variable

    def commands(self, tokens: Sequence[Token]) -> Iterator[Command]:
        words: list[ShellWord] = []
        for index, token in enumerate(tokens):
            if isinstance(token, ShellWord):
                words.append(token)
            elif isinstance(token, Operator):
                if self._in_pattern() and token.text == "|":
                    continue
                if self._in_pattern() and token.text == ")":
                    self._open_arm(words)
                elif not (token.text == "(" and _closes_at_once(tokens, index)):
                    yield from self._command(words, _heredoc(tokens, index))
                    self._after(token, words)
                words = []
        yield from self._command(words, None)

    def _command(self, words: list[ShellWord], heredoc: HereDocument | None) -> Iterator[Command]:
        words = self._without_keywords(words)
        prefix = 0
        while prefix < len(words) and assignment(words[prefix]) is not None:
            prefix += 1
        if prefix == len(words):
            for word in words:
                self._assign(word)
            return
        env = self.variables.environment()
        for word in words[:prefix]:
            name, items = self.variables.assigned(word)
            env[name] = as_value(items, self._place(word))
        self._builtin(words[prefix:])
        expanded = [part for word in words[prefix:] for part in self.variables.expand(word)]
        if expanded:
            yield Command(tuple(expanded), env, heredoc, self._branch())

    def _without_keywords(self, words: list[ShellWord]) -> list[ShellWord]:
        """Open and close the blocks that the first words name; the rest is the command."""
        while words:
            keyword = words[0].plain
            if keyword in BLOCKS_OPEN:
                self.blocks.append(_Block(str(keyword), dict(self.variables.values)))
                if keyword not in {"if", "while", "until"}:
                    self._loop_variable(words)
                    return []
            elif keyword in ARMS:
                self._arm(str(keyword))
            elif keyword in BLOCKS_CLOSE:
                self._close()
            elif keyword == "function":
                return []
            elif keyword not in TRANSPARENT:
                return words
            words = words[1:]
        return words

    def _loop_variable(self, words: list[ShellWord]) -> None:
        name = words[1].plain if len(words) > 1 else None
        if words[0].plain != "case" and name:
            self._forget(name, f"${name} takes each value of a loop", self._place(words[1]))

    def _arm(self, keyword: str) -> None:
        """An arm starts from the variables before the block, whatever another arm has set."""
        if not self.blocks or self.blocks[-1].kind not in {"if"}:
            return
        if self.blocks[-1].in_arm:
            self._end_arm()
        self.blocks[-1].in_arm = keyword != "elif"

    def _in_pattern(self) -> bool:
        block = self.blocks[-1] if self.blocks else None
        return block is not None and block.kind == "case" and not block.in_arm

    def _open_arm(self, pattern: list[ShellWord]) -> None:
        block = self.blocks[-1]
        block.in_arm = True
        block.label = "|".join(word.plain or "…" for word in pattern) or None

    def _after(self, operator: Operator, words: list[ShellWord]) -> None:
        if operator.text in {";;", ";&", ";;&"} and self.blocks:
            self._end_arm()
        if operator.text == "&&":
            is_test = bool(words) and words[0].plain in TESTS
            self.is_conditional = self.is_conditional or is_test
        else:
            self.is_conditional = operator.text == "||"

    def _end_arm(self) -> None:
        """Note what the arm made of the variables, and go back to those before the block."""
        block = self.blocks[-1]
        for name in block.changed:
            value = self.variables.values.get(name)
            if value is not None and value != block.before.get(name):
                block.outcomes.setdefault(name, []).append(value)
        self.variables.values = dict(block.before)
        block.in_arm = False

    def _close(self) -> None:
        """After a block, what any of its arms has set is not known; options may be added."""
        if not self.blocks:
            return
        self._end_arm()
        block = self.blocks.pop()
        for name, place in block.changed.items():
            self._uncertain(name, block.outcomes.get(name, []), "in a branch of the script", place)

    def _uncertain(self, name: str, outcomes: list[Items], where: str, place: Origin) -> None:
        before = self.variables.values.get(name)
        items = possibly_longer(before, outcomes, f"${name} may add it {where}")
        made = [item[0] for item in (before, *outcomes) if item]
        texts = ["".join(piece.text for piece in pieces) for pieces in made]
        if items is None or texts == [f"${name}"]:
            known = dict.fromkeys([*self.alternatives.get(name, []), *texts])
            self.alternatives[name] = list(known)[:MAX_ALTERNATIVES]
            self._forget(name, f"${name} is set {where}", place)
        else:
            self._set(name, items, place)

    def _branch(self) -> str | None:
        return next((block.label for block in reversed(self.blocks) if block.label), None)

    def _assign(self, word: ShellWord) -> None:
        name, items = self.variables.assigned(word)
        if self.is_conditional:
            self._uncertain(name, [items], "on a condition", self._place(word))
        else:
            self._set(name, items, self._place(word))

    def _set(self, name: str, items: Items, place: Origin) -> None:
        self.variables.set(name, items, place)
        for block in self.blocks:
            block.changed[name] = place

    def _forget(self, name: str, reason: str, place: Origin) -> None:
        self.variables.forget(name, reason, place)
        for block in self.blocks:
            block.changed[name] = place

    def _builtin(self, words: list[ShellWord]) -> None:
        """Builtins that change variables: export, unset, read, `set -a`, and `: ${X:=8}`."""
        keyword, arguments = words[0].plain, words[1:]
        if keyword in EXPORTERS:
            self._export(arguments, exports=keyword == "export" or _has(arguments, "-x"))
        elif keyword == "unset":
            for word in arguments:
                self.variables.unset(word.plain or "")
        elif keyword in READERS:
            for word in arguments:
                name = word.plain or ""
                if name.isidentifier():
                    reason = f"${name} is read while the script runs"
                    self._forget(name, reason, self._place(word))
        elif keyword == "set" and (_has(arguments, "-a") or _has(arguments, "+a")):
            self.variables.exports_all = _has(arguments, "-a")
        elif keyword == "set" and _has(arguments, "--"):
            self._set_parameters(arguments)
        elif keyword == ":":
            self._default_assignments(arguments)

    def _export(self, words: list[ShellWord], *, exports: bool) -> None:
        for word in words:
            name = assignment(word)
            if name is not None:
                self._assign(word)
            if exports:
                self.variables.exported.add((name or word.plain or "").removesuffix("+"))

    def _set_parameters(self, words: list[ShellWord]) -> None:
        """`set -- WORDS`: what `"$@"` is from here on."""
        start = next(index for index, word in enumerate(words) if word.plain == "--") + 1
        parts = [part for word in words[start:] for part in self.variables.expand(word)]
        items = tuple((Piece(part.text, part.unknown),) for part in parts)
        place = self._place(words[start - 1])
        for name in ("@", "*"):
            self._set(name, items, place)

    def _default_assignments(self, words: list[ShellWord]) -> None:
        for word in words:
            for fragment in word.fragments:
                name, operator, _ = fragment.text.strip("${}").partition(":=")
                if fragment.is_reference and operator and name.isidentifier():
                    text = reference(fragment.text, self.variables.lookup, "shell")
                    self._set(name, (text,), self._place(word))

    def _place(self, word: ShellWord) -> Origin:
        return self.variables.file.origin(word.line, word.column)


def _has(words: list[ShellWord], flag: str) -> bool:
    return any(word.plain == flag for word in words)


def _closes_at_once(tokens: Sequence[Token], index: int) -> bool:
    """Whether the bracket at `index` opens the head of a function: `start() {`."""
    following = tokens[index + 1 : index + 2]
    return bool(following) and isinstance(following[0], Operator) and following[0].text == ")"


def _heredoc(tokens: Sequence[Token], index: int) -> HereDocument | None:
    """The here document that belongs to the command which the operator at `index` ends."""
    for token in tokens[index : index + 2]:
        if isinstance(token, HereDocument):
            return token
    return None
