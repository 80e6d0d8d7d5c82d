"""The file that `--config FILE` names, when it lies beside the file that names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import InputFile, read_input
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem, Word


def with_config_files(parsed: ParsedFile) -> ParsedFile:
    """The parsed file with the entries of every `--config` file that can be found.

    Only relative paths are followed: an absolute one means the machine that serves.  An engine
    whose file is not found says so in `unresolved`.
    """
    is_file = not parsed.path.startswith("<")  # neither <stdin> nor <command line>
    folder = Path(parsed.path).parent if is_file else Path()
    engines, problems = [], list(parsed.problems)
    for engine in parsed.engines:
        completed, problem = _completed(engine, folder)
        engines.append(completed)
        problems += [problem] if problem else []
    return replace(parsed, engines=tuple(engines), problems=tuple(problems))


def _completed(engine: ParsedEngine, folder: Path) -> tuple[ParsedEngine, Problem | None]:
    word = _config_word(engine.words)
    if word is None or engine.config:
        return engine, None
    reason = f"the settings in {word.text} are not read: it is not beside the file"
    if word.unknown:
        reason = f"the settings of --config are not read: {word.unknown}"
    elif not Path(word.text).is_absolute() and (folder / word.text).is_file():
        try:
            return _read(engine, read_input(str(folder / word.text))), None
        except InputError as error:
            return engine, Problem(str(error), word.origin)
    return replace(engine, unresolved={**engine.unresolved, "*config": reason}), None


def _read(engine: ParsedEngine, file: InputFile) -> ParsedEngine:
    from scheduler_reader.parse.forms.config_yaml import config_entries
    from scheduler_reader.parse.yaml_nodes import compose

    documents, problems = compose(file)
    if problems or not documents:
        what = problems[0].message if problems else "has no settings"
        raise InputError(what, problems[0].origin if problems else file.origin(1))
    return replace(engine, config=config_entries(documents[0], file))


def _config_word(words: tuple[Word, ...]) -> Word | None:
    """The value of `--config FILE` or `--config=FILE`."""
    for index, word in enumerate(words):
        if word.text == "--config" and index + 1 < len(words):
            return words[index + 1]
        if word.text.startswith("--config="):
            return Word(word.text.partition("=")[2], word.origin, word.unknown)
    return None
