"""Parsed files as JSON: what each file says, without the judgement of any vLLM release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler_reader.knowledge.flags import FlagTable, any_release_table
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.value import Known, Origin, Unknown, Value

SECRETS = frozenset({"api_key", "hf_token", "ssl_keyfile_password"})
SECRET_ENDINGS = ("_TOKEN", "_API_KEY", "_SECRET", "_PASSWORD")
MASK = "***"


def to_json(files: Iterable[ParsedFile]) -> dict[str, Any]:
    """`{files: [{path, form, engines, problems}]}`; secrets are masked."""
    return {"files": [_file(file) for file in files]}


def read_as_written(engine: ParsedEngine) -> FlagReading:
    """The engine's arguments as the file says them, typed as in the release that it names."""
    return read_arguments(engine, _table(engine))


def _table(engine: ParsedEngine) -> FlagTable:
    version = engine.image_version
    if isinstance(version, Known) and version.value in releases():
        return any_release_table(version.value)
    return any_release_table()


def _file(file: ParsedFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "form": file.form,
        "engines": [_engine(engine) for engine in file.engines],
        "problems": [
            {"message": problem.message, "line": problem.origin.line} for problem in file.problems
        ],
    }


def _engine(engine: ParsedEngine) -> dict[str, Any]:
    reading = read_as_written(engine)
    unresolved = dict(engine.unresolved) | dict(reading.unresolved)
    model = reading.model
    if model is None and "model" not in unresolved:
        unresolved["model"] = "the file does not say; it is given when the server is started"
    flags = _plain(reading.settings, unresolved, "")
    env = {name: value for name, value in engine.env.items() if name.startswith("VLLM_")}
    return {
        "name": engine.name,
        "model": None if model is None else _plain({"model": model}, unresolved, "")["model"],
        "flags": {
            name: MASK if _is_secret(name, value) else value for name, value in flags.items()
        },
        "env": {
            name: MASK if _is_secret(name, value) else value
            for name, value in _plain(env, unresolved, "env.").items()
        },
        "image_version": _text(engine.image_version),
        "unresolved": unresolved,
        "location": _location(engine.origin),
    }


def _plain(
    values: Mapping[str, Value[Any]], unresolved: dict[str, str], prefix: str
) -> dict[str, Any]:
    """The values without their origins; an unknown one is null, and its reason is noted."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Unknown):
            unresolved[prefix + name] = value.reason
            plain[name] = None
            continue
        if value.value is None:
            unresolved[prefix + name] = "the text None, which vLLM reads as no value"
        plain[name] = value.value
    return plain


def _is_secret(name: str, value: Any) -> bool:
    return value is not None and (name in SECRETS or name.upper().endswith(SECRET_ENDINGS))


def _text(value: Value[str] | None) -> str | None:
    return value.value if isinstance(value, Known) else None


def _location(origin: Origin) -> dict[str, Any]:
    return {"path": origin.path, "line": origin.line, "column": origin.column}
