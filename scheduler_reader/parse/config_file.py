"""The file that `--config FILE` names, when it lies beside the file that names it."""

from __future__ import annotations

from pathlib import Path

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import InputFile, read_input
from scheduler_reader.parse.source import MARK, ParsedEngine, ParsedFile, Problem, Remark, Word


def with_config_files(parsed: ParsedFile, tree: Path | None) -> ParsedFile:
    """The parsed file with the entries of every `--config` file that can be found.

    Only relative paths are followed: an absolute one means the machine that serves.  Nothing
    outside the folder `tree` is read, also not by a symbolic link (None: the user named the file
    himself).  An engine whose file is not read says so in `unresolved`.
    """
    is_file = not parsed.path.startswith("<")  # neither <stdin> nor <command line>
    folder = Path(parsed.path).parent if is_file else Path()
    engines, problems, remarks = [], list(parsed.problems), list(parsed.remarks)
    for engine in parsed.engines:
        completed, problem, said = _completed(engine, folder, tree)
        engines.append(completed)
        problems += [problem] if problem else []
        remarks += [remark for remark in said if remark not in remarks]
    return parsed._replace(engines=tuple(engines), problems=tuple(problems), remarks=tuple(remarks))


def _completed(
    engine: ParsedEngine, folder: Path, tree: Path | None
) -> tuple[ParsedEngine, Problem | None, tuple[Remark, ...]]:
    word = _config_word(engine.words)
    if word is None or engine.config:
        return engine, None, ()
    reason = f"the settings in {word.text} are not read: it is not below the folder of the file"
    if word.unknown:
        reason = f"the settings of --config are not read: {word.unknown}"
    elif _may_be_read(word.text, folder, tree):
        try:
            file = read_input(str(folder / word.text))
            return _read(engine, file), None, _remarks(file)
        except InputError as error:
            return engine, Problem(str(error), word.origin), ()
    return engine._replace(unresolved={**engine.unresolved, "*config": reason}), None, ()


def _may_be_read(name: str, folder: Path, tree: Path | None) -> bool:
    """Whether a relative path names a file in the tree, once every link in it is followed."""
    if Path(name).is_absolute():
        return False
    try:
        file = folder / name
        return file.is_file() and (tree is None or file.resolve().is_relative_to(tree.resolve()))
    except (OSError, RuntimeError, ValueError):  # a name too long, a loop of links, a null byte
        return False


def _read(engine: ParsedEngine, file: InputFile) -> ParsedEngine:
    from scheduler_reader.parse.forms.config_yaml import config_entries
    from scheduler_reader.parse.yaml_nodes import compose

    documents, problems = compose(file)
    if problems or not documents:
        what = problems[0].message if problems else "has no settings"
        raise InputError(what, problems[0].origin if problems else file.origin(1))
    return engine._replace(config=config_entries(documents[0], file))


def _remarks(file: InputFile) -> tuple[Remark, ...]:
    if MARK not in file.text:
        return ()
    from scheduler_reader.parse.remarks import find_remarks

    return find_remarks(ParsedFile(file.path, "config-yaml"), file)


def _config_word(words: tuple[Word, ...]) -> Word | None:
    """The value of `--config FILE` or `--config=FILE`."""
    for index, word in enumerate(words):
        if word.text == "--config" and index + 1 < len(words):
            return words[index + 1]
        if word.text.startswith("--config="):
            return Word(word.text.partition("=")[2], word.origin, word.unknown)
    return None
