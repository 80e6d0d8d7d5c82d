"""Shell text → words and operators, each with its line and column.

Only the lexical part of POSIX shell and bash: quotes, escapes, continuations, comments, here
documents, redirections, arrays.  What the words mean is `shell_script`'s work.  Every text is
accepted; a quote or bracket that never closes ends with the text.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from scheduler_reader.parse.expand import SHELL_NAME, TEMPLATE, closing
from scheduler_reader.parse.shell_tokens import (
    Fragment,
    HereDocument,
    Operator,
    ShellWord,
    Token,
)

OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|", "(", ")")
REDIRECTIONS = ("&>>", "&>", "<<<", ">>", ">&", ">|", "<&", "<>", ">", "<")
SEPARATORS = " \t\n"


def tokenize(text: str, line: int = 1, column: int = 1) -> list[Token]:
    """Cut shell text into tokens; `line` and `column` are where the text starts in its file."""
    return _Tokenizer(text, line, column).tokens()


def comments(text: str, line: int = 1) -> list[tuple[int, int, str]]:
    """Line, column and text of the comments, also those in arrays and here documents."""
    tokenizer = _Tokenizer(text, line, 1)
    found = tokenizer.comments
    for token in tokenizer.tokens():
        if isinstance(token, HereDocument):
            found += comments(token.text, token.line)
    return sorted(found)


@dataclass(slots=True)
class _Word:
    """A word that is being read."""

    start: int
    fragments: list[Fragment] = field(default_factory=list)

    def add(self, text: str, *, is_quoted: bool = False) -> None:
        last = self.fragments[-1] if self.fragments else None
        if last and last.is_quoted == is_quoted and not last.is_reference:
            self.fragments[-1] = Fragment(last.text + text, is_quoted)
        else:
            self.fragments.append(Fragment(text, is_quoted))


class _Tokenizer:
    def __init__(self, text: str, line: int, column: int) -> None:
        self.text = text
        self.line = line
        self.column = column
        self.starts = [0]
        self.starts += [index + 1 for index, character in enumerate(text) if character == "\n"]
        self.position = 0
        self.pending: list[tuple[str, bool, bool]] = []  # delimiter, strips tabs, is quoted
        self.found: list[Token] = []
        self.comments: list[tuple[int, int, str]] = []
        self.in_test = False

    def tokens(self) -> list[Token]:
        while self.position < len(self.text):
            self._next()
        return self.found

    def _next(self) -> None:
        character = self.text[self.position]
        if character in " \t":
            self.position += 1
        elif self._starts("\\\n"):
            self.position += 2
        elif character == "#":
            end = self.text.find("\n", self.position)
            end = len(self.text) if end < 0 else end
            self.comments.append((*self._place(self.position), self.text[self.position : end]))
            self.position = end
        elif character == "\n":
            self._operator("\n")
            self._here_documents()
        elif self.in_test and self._ends_test():
            self.found.append(ShellWord((Fragment("]]", False),), *self._place(self.position)))
            self.position += 2
            self.in_test = False
        elif self._redirection() or self._arithmetic_command():
            return
        else:
            operator = None if self.in_test else self._longest(OPERATORS)
            if operator is not None:
                self._operator(operator)
            else:
                self._word()

    def _operator(self, text: str) -> None:
        self.found.append(Operator(text, *self._place(self.position)))
        self.position += len(text)

    def _redirection(self) -> bool:
        """Skip `2>file`, `&>file`, `<<<word`; note a here document for the end of the line."""
        if self.in_test:
            return False
        start = self.position
        while self.text[start : start + 1].isdigit():
            start += 1
        operator = next((op for op in ("<<-", "<<") if self.text.startswith(op, start)), None)
        if operator is not None and not self.text.startswith("<<<", start):
            self.position = start + len(operator)
            self._here_delimiter(strips_tabs=operator == "<<-")
            return True
        operator = next((op for op in REDIRECTIONS if self.text.startswith(op, start)), None)
        if operator is None or self.text.startswith(("<(", ">("), start):
            return False
        self.position = start + len(operator)
        self._blanks()
        if self.position < len(self.text) and self.text[self.position] not in "\n;|)":
            self._word(keep=False)
        return True

    def _here_delimiter(self, *, strips_tabs: bool) -> None:
        self._blanks()
        if self.position >= len(self.text) or self.text[self.position] in "\n;|&":
            return
        word = self._word(keep=False)
        delimiter = "".join(fragment.text for fragment in word.fragments)
        is_quoted = any(fragment.is_quoted for fragment in word.fragments)
        self.pending.append((delimiter, strips_tabs, is_quoted))

    def _here_documents(self) -> None:
        for delimiter, strips_tabs, is_quoted in self.pending:
            line, _ = self._place(self.position)
            lines = []
            while self.position < len(self.text):
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                content = self.text[self.position : end]
                content = content.lstrip("\t") if strips_tabs else content
                self.position = min(end + 1, len(self.text))
                if content == delimiter:
                    break
                lines.append(content)
            self.found.append(HereDocument("\n".join(lines), is_quoted, line))
        self.pending = []

    def _ends_test(self) -> bool:
        after = self.text[self.position + 2 : self.position + 3]
        return self._starts("]]") and (not after or after in SEPARATORS + ";&|)")

    def _arithmetic_command(self) -> bool:
        """Skip `((i++))` where a command could stand."""
        if not self._starts("((") or (self.found and isinstance(self.found[-1], ShellWord)):
            return False
        self.position = closing(self.text, self.position)
        return True

    def _word(self, keep: bool = True) -> ShellWord:
        word = _Word(self.position)
        while self.position < len(self.text):
            if not self._word_part(word):
                break
        line, column = self._place(word.start)
        finished = ShellWord(tuple(word.fragments), line, column)
        if self.text[self.position : self.position + 1] == "(" and _is_array_start(finished):
            finished = self._array(finished)
        if keep:
            self.found.append(finished)
            self.in_test = self.in_test or finished.plain == "[["
        return finished

    def _word_part(self, word: _Word) -> bool:
        """Read one character, quote or reference into the word; False where the word ends."""
        character = self.text[self.position]
        if character in SEPARATORS or (not self.in_test and self._ends_word(character)):
            return False
        if self._starts("\\\n"):
            self.position += 2
        elif character == "\\":
            word.add(self.text[self.position + 1 : self.position + 2], is_quoted=True)
            self.position += 2
        elif character == "'":
            self._single_quoted(word)
        elif character == '"':
            self._double_quoted(word)
        elif self._starts("$'") or self._starts('$"'):
            self.position += 1
        elif self._starts("<(") or self._starts(">("):
            self._take_reference(word, closing(self.text, self.position + 1), is_quoted=False)
        else:
            end = self._reference_end()
            if end is not None:
                self._take_reference(word, end, is_quoted=False)
            else:
                word.add(character)
                self.position += 1
        return True

    def _ends_word(self, character: str) -> bool:
        if character in "<>":
            return not (self._starts("<(") or self._starts(">("))
        return character in ";&|()"

    def _single_quoted(self, word: _Word) -> None:
        end = self.text.find("'", self.position + 1)
        end = len(self.text) if end < 0 else end
        word.add(self.text[self.position + 1 : end], is_quoted=True)
        self.position = end + 1

    def _double_quoted(self, word: _Word) -> None:
        self.position += 1
        word.add("", is_quoted=True)
        while self.position < len(self.text) and self.text[self.position] != '"':
            end = self._reference_end()
            if end is not None:
                self._take_reference(word, end, is_quoted=True)
            elif self._starts("\\\n"):
                self.position += 2
            elif self.text[self.position] == "\\" and self.text[
                self.position + 1 : self.position + 2
            ] in {"$", "`", '"', "\\"}:
                word.add(self.text[self.position + 1], is_quoted=True)
                self.position += 2
            else:
                word.add(self.text[self.position], is_quoted=True)
                self.position += 1
        self.position += 1

    def _take_reference(self, word: _Word, end: int, *, is_quoted: bool) -> None:
        raw = self.text[self.position : end]
        word.fragments.append(Fragment(raw, is_quoted, is_reference=True))
        self.position = end

    def _reference_end(self) -> int | None:
        text, position = self.text, self.position
        if text.startswith("{{", position):
            template = TEMPLATE.match(text, position)
            return template.end() if template else None
        if text[position] == "`":
            end = text.find("`", position + 1)
            return len(text) if end < 0 else end + 1
        if text[position] != "$":
            return None
        if text[position + 1 : position + 2] in {"{", "("}:
            return closing(text, position + 1)
        match = SHELL_NAME.match(text, position)
        return match.end() if match else None

    def _array(self, name: ShellWord) -> ShellWord:
        """The words in brackets after `NAME=`."""
        end = closing(self.text, self.position)
        line, column = self._place(self.position + 1)
        inner = self.text[self.position + 1 : max(self.position + 1, end - 1)]
        within = _Tokenizer(inner, line, column)
        items = tuple(token for token in within.tokens() if isinstance(token, ShellWord))
        self.comments += within.comments
        self.position = end
        return ShellWord(name.fragments, name.line, name.column, items)

    def _blanks(self) -> None:
        while self._starts(" ") or self._starts("\t"):
            self.position += 1

    def _longest(self, choices: tuple[str, ...]) -> str | None:
        return next((choice for choice in choices if self._starts(choice)), None)

    def _starts(self, prefix: str) -> bool:
        return self.text.startswith(prefix, self.position)

    def _place(self, position: int) -> tuple[int, int]:
        row = bisect_right(self.starts, position) - 1
        column = position - self.starts[row] + (self.column if row == 0 else 1)
        return self.line + row, column


def _is_array_start(word: ShellWord) -> bool:
    name = (word.plain or "").removesuffix("=").removesuffix("+")
    return (word.plain or "").endswith("=") and name.isidentifier()
