"""Read an engine's arguments as one vLLM release's own parser reads them, or as they are written.

There is one reader.  With the table of a release it does what that release does, and every
argument it does not simply take becomes a `FlagIssue`.  With the table of all releases it says
what the file says: a spelling that some release refuses still has its value.
"""

from __future__ import annotations

from scheduler_reader.knowledge.flags import FlagTable
from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.value import Known, Unknown


def read_arguments(engine: ParsedEngine, table: FlagTable) -> FlagReading:
    """Read the arguments of an engine with the parser of `table.release`.

    With `any_release_table()` the reading is faithful to the file instead: nothing is dropped,
    no choice is checked, and options of plugins keep their own names.
    """
    from scheduler_reader.parse.argument_reader import ArgumentReader
    from scheduler_reader.parse.command_issues import model_place, unread_config
    from scheduler_reader.parse.config_words import (
        words_as_written,
        words_of_keywords,
        words_of_release,
    )

    reader = ArgumentReader(engine.entrypoint, table)
    if table.release is None:
        config = words_as_written((*engine.keywords, *engine.config))
        reader.read((*config.words, *engine.words), dotted=True)
        return reader.reading()
    lost = unread_config(engine.words, table.release)
    entries = () if lost else engine.config
    config = words_of_release(entries, table, table.release, engine.entrypoint)
    reader.issues += lost
    for entry, what in config.dropped:
        reader.issue("dropped", entry.key, what, entry.origin, fatal=False)
    dotted = parser_behaves(table.release, "dotted_keys")
    reader.read(engine.implied, dotted)
    reader.read(words_of_keywords(engine.keywords, table), dotted)
    reader.read(config.words, dotted)
    if engine.entrypoint == "serve":
        reader.issues += model_place(engine.words, table.release)
    reader.read(engine.words, dotted)
    return _checked(reader.reading())


def _checked(reading: FlagReading) -> FlagReading:
    """The reading with an issue for every value outside its limits; a refused one is unknown."""
    if all(is_plain_size(v.value) for v in reading.settings.values() if isinstance(v, Known)):
        return reading
    from scheduler_reader.parse.serve_flags import serve_flags

    _, issues = serve_flags(reading)
    beyond = {
        issue.flag.lstrip("-").replace("-", "_"): Unknown(issue.message, issue.origin)
        for issue in issues
        if issue.fatal
    }
    settings = {**reading.settings, **beyond}
    return reading._replace(settings=settings, issues=(*reading.issues, *issues))


def is_plain_size(value: object) -> bool:
    """Whether `ServeFlags`, which is slow to load, cannot refuse it: a count, or a share below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return value >= 1 if isinstance(value, int) else 0 < value < 1
