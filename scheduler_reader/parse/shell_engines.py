"""The vLLM servers that shell text or a container starts.

Commands inside commands are followed: `bash -c "…"`, `eval`, `ssh host '…'`, here documents, and
`docker run image …`.  Every form that holds a command (a script, a container's arguments, a
`run:` block) reads it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduler_reader.parse.container import Container, image_arguments, not_understood
from scheduler_reader.parse.docker_run import container_of_run
from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.expand import Piece
from scheduler_reader.parse.image_version import (
    known_release,
    release_of_image,
    release_of_requirement,
)
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.placeholders import IN_EVAL, Placeholders
from scheduler_reader.parse.serve_command import (
    NOT_RUN,
    SHELLS,
    called_script,
    program,
    serve_command,
)
from scheduler_reader.parse.shell_lexer import tokenize
from scheduler_reader.parse.shell_script import Command, ShellScript
from scheduler_reader.parse.shell_variables import Items
from scheduler_reader.parse.source import ParsedEngine, Problem, Word
from scheduler_reader.value import Known, Unknown, Value

MAX_NESTING = 5
IMAGE_OPTIONS = ("--container-image=", "docker://")  # of Slurm's pyxis, and of Apptainer


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


def engines_or_problem(
    container: Container, file: InputFile, placeholders: Placeholders
) -> tuple[list[ParsedEngine], list[Problem]]:
    """The engines that a container starts; a problem where it could start one and none is found."""
    found = engines_in_container(container, file)
    problem = None if found else not_understood(container)
    if problem is None:
        return [placeholders.engine(engine) for engine in found], []
    return [], [problem._replace(message=placeholders.shown(problem.message)[0])]


def engines_in_container(
    container: Container, file: InputFile, depth: int = 0
) -> tuple[ParsedEngine, ...]:
    """The engines that a container starts, with its environment, release and surroundings."""
    reader = _Reader(file, container.form)
    script = ShellScript(file)
    for name, value in container.env.items():
        reason = value.reason if isinstance(value, Unknown) else None
        text = f"${name}" if isinstance(value, Unknown) else value.value
        script.variables.set(name, ((Piece(text, reason),),), value.origin or container.origin)
        script.variables.exported.add(name)
    if container.command:
        reader.command(script, Command(container.command, script.variables.environment()), depth)
    found = list(reader.engines())
    own = None if found else image_arguments(container)
    if own is not None:
        entrypoint, words = own
        place = words[0].origin if words else container.origin
        found = [
            ParsedEngine(
                *(container.form, place), entrypoint=entrypoint, words=words, env=container.env
            )
        ]
    return tuple(
        engine._replace(
            name=engine.name or container.name,
            image_version=engine.image_version or container.release,
            deployment=engine.deployment or container.surroundings,
        )
        for engine in found
    )


class _Reader:
    def __init__(self, file: InputFile, form: str) -> None:
        self.file = file
        self.form = form
        self.found: list[tuple[ParsedEngine, bool]] = []  # and whether in a container of its own
        self.version: Known[str] | None = None
        self.in_alternative = False  # in what may be a variable's value, which is read but once

    def engines(self) -> Iterator[ParsedEngine]:
        """The engines; the release that the text installs holds outside containers."""
        for engine, has_container in self.found:
            stated = engine.image_version
            yield engine._replace(image_version=stated if has_container else self.version or stated)

    def read(self, script: ShellScript, text: str, line: int, column: int, depth: int) -> None:
        if depth > MAX_NESTING:
            return
        for command in script.commands(tokenize(text, line, column)):
            self.command(script, command, depth)

    def command(self, script: ShellScript, command: Command, depth: int) -> None:
        """Note the engine that one command starts, or read the text that it runs."""
        words = command.words
        self._note_version(words)
        container = container_of_run(words, command.env, self.form)
        if container is not None:
            inside = engines_in_container(container, self.file, depth + 1) if depth < 5 else ()
            self.found += [(engine, True) for engine in inside]
            return
        if command.heredoc is not None and program(words[0]) in SHELLS:
            heredoc = command.heredoc
            self.read(script, heredoc.text, heredoc.line, 1, depth + 1)
        is_text = program(words[0]) == "eval"
        found = None if is_text else serve_command(words)
        if found is None:
            self._inner(script, words, depth)
            return
        before = words[: len(words) - len(found.arguments)]
        engine = ParsedEngine(
            self.form,
            found.start.origin,
            name=command.branch,
            entrypoint=found.entrypoint,
            words=found.arguments,
            env=command.env | found.env,
            image_version=_wrapper_release(before),
        )
        self.found.append((engine, False))

    def _inner(self, script: ShellScript, words: tuple[Word, ...], depth: int) -> None:
        """Read the shell text that a command runs: `bash -c TEXT`, `eval TEXT`, `ssh host TEXT`."""
        if program(words[0]) in NOT_RUN:
            return
        if not self.in_alternative and self._alternatives(script, words, depth):
            return
        called = called_script(words)
        if called is not None:
            self._with_parameters(script, *called, depth)
        elif program(words[0]) == "eval":
            self._eval(script, words, depth)
        else:
            for word in words:
                if mentions_server(word.text):
                    self._nested(script, word, depth)

    def _alternatives(self, script: ShellScript, words: tuple[Word, ...], depth: int) -> bool:
        """Read each command that branches have put into a variable which stands here."""
        for index, word in enumerate(words):
            texts = script.alternatives.get(word.text.strip("${}"), []) if word.unknown else []
            commands = [text for text in texts if mentions_server(text)]
            self.in_alternative = True
            for text in commands:
                self._eval(script, (word, Word(text, word.origin), *words[index + 1 :]), depth)
            self.in_alternative = False
            if commands:
                return True
        return False

    def _eval(self, script: ShellScript, words: tuple[Word, ...], depth: int) -> None:
        """Read the words of `eval` as shell text again; what is unknown in them stays so.

        A word that is a text of its own has its references in it, which are looked up again.
        """
        hidden = Placeholders(IN_EVAL)
        line = " ".join(
            word.text
            if any(map(str.isspace, word.text))
            else hidden.hide((Piece(word.text, word.unknown),))
            for word in words[1:]
        )
        before = len(self.found)
        self._nested(script, Word(line, words[1].origin), depth)
        self.found[before:] = [(hidden.engine(engine), own) for engine, own in self.found[before:]]

    def _with_parameters(
        self, script: ShellScript, text: Word, parameters: tuple[Word, ...], depth: int
    ) -> None:
        """Read a script that was called with `$0`, `$1`, …."""
        items = tuple((Piece(word.text, word.unknown),) for word in parameters)
        values: Mapping[str, Items] = {str(index): (item,) for index, item in enumerate(items)}
        values = {**values, "@": items[1:], "*": items[1:]}
        before = {name: script.variables.values.get(name) for name in values}
        for name, value in values.items():
            script.variables.set(name, value, text.origin)
        self._nested(script, text, depth)
        for name, old in before.items():
            if old is None:
                script.variables.unset(name)
            else:
                script.variables.values[name] = old

    def _nested(self, script: ShellScript, word: Word, depth: int) -> None:
        """Shell text in one word."""
        origin, outer = word.origin, script.variables.file
        inner = excerpt(outer, word.text, origin.line or 1, origin.column or 1)
        script.variables.file = inner
        try:
            self.read(script, word.text, 1, 1, depth + 1)
        finally:
            script.variables.file = outer

    def _note_version(self, words: tuple[Word, ...]) -> None:
        if program(words[0]) in NOT_RUN:
            return
        for word in words:
            stated = known_release(release_of_requirement(word.text), word.origin)
            self.version = stated or self.version


def _wrapper_release(words: tuple[Word, ...]) -> Value[str] | None:
    """The release of the image in which Slurm or Apptainer runs the command."""
    for word in words:
        for option in IMAGE_OPTIONS:
            _, found, image = word.text.partition(option)
            release = release_of_image(image.replace("#", "/")) if found else None
            if release is not None:
                return Known(release, word.origin)
    return None


def mentions_server(text: str) -> bool:
    """Whether shell text could start a vLLM server."""
    return any(c.isspace() for c in text) and (
        "vllm serve" in " ".join(text.split())
        or "vllm.entrypoints" in text
        or "dynamo.vllm" in text
    )
