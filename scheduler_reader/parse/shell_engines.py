"""The vLLM servers that shell text starts, also inside `bash -c "…"`, `eval` and `ssh host '…'`.

Every form that holds a command as text (a script, a container's `sh -c`, a `run:` block) reads it
here.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.parse.image_version import known_release, release_of_requirement
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.serve_command import NOT_RUN, program, serve_command
from scheduler_reader.parse.shell_lexer import tokenize
from scheduler_reader.parse.shell_script import Command, ShellScript
from scheduler_reader.parse.shell_variables import Items
from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.value import Known, Value

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "ssh", "sbatch"})
MAX_NESTING = 5


def engines_in_shell(
    text: str,
    file: InputFile,
    form: str,
    *,
    line: int = 1,
    column: int = 1,
    variables: dict[str, Items] | None = None,
) -> tuple[ParsedEngine, ...]:
    """One engine for each vLLM server that the text starts, in order.

    `line` and `column` are where the text starts in its file; `variables` are set before it.
    """
    reader = _Reader(file, form)
    script = ShellScript(file)
    for name, items in (variables or {}).items():
        script.variables.set(name, items, file.origin(line))
    reader.read(script, text, line, column, depth=0)
    return tuple(reader.engines())


class _Reader:
    def __init__(self, file: InputFile, form: str) -> None:
        self.file = file
        self.form = form
        self.found: list[ParsedEngine] = []
        self.version: Known[str] | None = None

    def engines(self) -> Iterator[ParsedEngine]:
        """The engines; the release that the text installs holds for all of them."""
        for engine in self.found:
            yield ParsedEngine(
                engine.form,
                engine.origin,
                name=engine.name,
                entrypoint=engine.entrypoint,
                words=engine.words,
                env=engine.env,
                image_version=self.version,
            )

    def read(self, script: ShellScript, text: str, line: int, column: int, depth: int) -> None:
        if depth > MAX_NESTING:
            return
        for command in script.commands(tokenize(text, line, column)):
            self._command(script, command, depth)

    def _command(self, script: ShellScript, command: Command, depth: int) -> None:
        words = command.words
        self._note_version(words)
        name = program(words[0])
        if command.heredoc is not None and name in SHELLS:
            heredoc = command.heredoc
            self.read(script, heredoc.text, heredoc.line, 1, depth + 1)
        if name == "eval":
            text = " ".join(word.text for word in words[1:])
            self._nested(script, Word(text, words[0].origin), depth)
            return
        found = serve_command(words)
        if found is None:
            if name not in NOT_RUN:
                for word in words:
                    if mentions_server(word.text):
                        self._nested(script, word, depth)
            return
        env: dict[str, Value[str]] = command.env | found.env
        place = found.start.origin
        self.found.append(
            ParsedEngine(
                self.form,
                place,
                name=command.branch,
                entrypoint=found.entrypoint,
                words=found.arguments,
                env=env,
            )
        )

    def _nested(self, script: ShellScript, word: Word, depth: int) -> None:
        """Shell text in one word; the place of its words is the word's own line and after."""
        origin = word.origin
        self.read(script, word.text, origin.line or 1, origin.column or 1, depth + 1)

    def _note_version(self, words: tuple[Word, ...]) -> None:
        if program(words[0]) in NOT_RUN:
            return
        for word in words:
            stated = known_release(release_of_requirement(word.text), word.origin)
            self.version = stated or self.version


def mentions_server(text: str) -> bool:
    """Whether shell text could start a vLLM server."""
    return any(c.isspace() for c in text) and (
        "vllm serve" in " ".join(text.split()) or "vllm.entrypoints" in text
    )
