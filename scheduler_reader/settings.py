"""Options of sched-reader that stand in a file: `sched-reader.toml`, or `[tool.sched-reader]` of `pyproject.toml`.

The file is looked for from the folder of what is read upward: the nearest wins, nothing is merged.
A repository's root is the last folder searched, and a settings file that is a link is passed over,
so that no checkout is read under settings from outside of it.  So is nothing that settings name in
the repository and that is a link out of it.  `--hub` is no setting: a file never
makes this program open a connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from os.path import normpath, realpath, relpath
from pathlib import Path
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.settings_search import FILE, PROJECT_FILE, candidates
from scheduler_reader.value import Known, Origin

TABLE = re.compile(rb"^\s*\[tool\.sched-reader[\].]", re.MULTILINE)
HEADER = re.compile(r"\s*\[\s*([\w.\s\"'-]+?)\s*\]")
KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
SYNTAX_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


class Key(Record):
    """One setting: the type of its value, and what holds where nobody gives it, in words."""

    kind: type
    otherwise: str
    least: int | None = None
    is_positive: bool = False
    choices: tuple[str, ...] = ()
    is_path: bool = False  # relative to the settings file


KEYS = {
    "vllm-version": Key(str, "the configuration's own, else the newest known"),
    "gpu": Key(str, "the configuration's own, else H100 SXM"),
    "gpu-count": Key(int, "the configuration's own, else one for each rank", least=1),
    "gpu-memory-used-gib": Key(float, "nothing else runs on the GPU", least=0),
    "offline": Key(bool, "false: the server's defaults"),
    "model-config": Key(str, "the model catalogue", is_path=True),
    "workload": Key(str, "the default workload", is_path=True),
    "isl": Key(int, "the workload's", least=1),
    "osl": Key(int, "the workload's", least=1),
    "concurrency": Key(int, "the workload's", least=1),
    "rate": Key(float, "the workload's", is_positive=True),
    "slo-ttft-ms": Key(float, "no objective", is_positive=True),
    "slo-itl-ms": Key(float, "no objective", is_positive=True),
    "slo-tpot-ms": Key(float, "no objective", is_positive=True),
    "fail-on": Key(str, "error", choices=("error", "warning", "note", "never")),
    "require-facts": Key(bool, "false"),
    "select": Key(list, "all rules"),
    "ignore": Key(list, "no rule"),
    "rules": Key(list, "no folder of further rules", is_path=True),
    "severity": Key(dict, "that of each rule"),
    "policy": Key(dict, "no threshold"),
    "baseline": Key(str, "no baseline", is_path=True),
}
PROFILES = "profile"  # the table of named settings, each over those that stand outside of it
DISPLACED = {  # a setting → those that it takes the place of
    "workload": ("isl", "osl", "concurrency", "rate"),
    "concurrency": ("rate",),
    "rate": ("concurrency",),
}
WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of text",
    dict: "a table",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file states: values by key, each with its place; so are the entries of a table."""

    path: Path
    values: Mapping[str, Known[Any]]
    profiles: Mapping[str, Mapping[str, Known[Any]]] = field(default_factory=dict)

    def with_profile(self, name: str) -> Settings:
        """The settings with those of a profile over them; `UsageError` where there is none."""
        if name not in self.profiles:
            known = ", ".join(self.profiles) or "none"
            raise UsageError(f"--profile {name}: there is {known}", _at(self.path))
        over = self.profiles[name]
        displaced = {key for given in over for key in DISPLACED.get(given, ())}
        values = {key: value for key, value in self.values.items() if key not in displaced}
        for key, value in over.items():
            if KEYS[key].kind is dict and key in values:
                value = Known({**values[key].value, **value.value}, value.origin)  # noqa: PLW2901
            values[key] = value
        return Settings(self.path, values, self.profiles)


def find_settings(start: Path, profile: str | None = None) -> Settings | None:
    """The settings that hold for what lies in the folder `start`; None: there are none.

    Raises `UsageError` with file, line and key for what is no setting, or not of its type.
    """
    found = _nearest(start)
    if profile is None:
        return found
    if found is None:
        raise UsageError(f"--profile {profile}: there is no settings file that has it")
    return found.with_profile(profile)


def _nearest(start: Path) -> Settings | None:
    for path in candidates(start):
        content = _content(path)
        if path.name == FILE or TABLE.search(content):
            return _read(path, content)
    return None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", _at(path)) from None


def _read(path: Path, content: bytes) -> Settings:
    import tomllib

    try:
        text = content.decode("utf-8")
        stated = tomllib.loads(text)
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text", _at(path)) from None
    except tomllib.TOMLDecodeError as error:
        place = SYNTAX_PLACE.search(str(error))
        message = f"is not TOML: {SYNTAX_PLACE.sub('', str(error))}"
        raise UsageError(message, _at(path, int(place[1]) if place else None)) from None
    if path.name == PROJECT_FILE:
        stated = stated.get("tool", {}).get("sched-reader", {})
    lines = key_lines(text, ("tool", "sched-reader") if path.name == PROJECT_FILE else ())
    named = stated.pop(PROFILES, {})
    at = _Place(path, lines, (PROFILES,))
    if not isinstance(named, dict) or not all(isinstance(one, dict) for one in named.values()):
        raise UsageError(f"{PROFILES}: takes tables, as in [{PROFILES}.ci]", at.origin)
    profiles = {name: _values(one, at.below(name)) for name, one in named.items()}
    return Settings(path, _values(stated, _Place(path, lines)), profiles)


class _Place(Record):
    """A table or key of the settings file, and the lines of all of them."""

    path: Path
    lines: Mapping[tuple[str, ...], int]
    keys: tuple[str, ...] = ()

    def below(self, key: str) -> _Place:
        return self._replace(keys=(*self.keys, key))

    @property
    def origin(self) -> Origin:
        """The line of the key, else that of the nearest table around it."""
        within = (self.keys[:length] for length in range(len(self.keys), 0, -1))
        return _at(self.path, next((self.lines[k] for k in within if k in self.lines), None))


def _values(stated: Mapping[str, Any], table: _Place) -> dict[str, Known[Any]]:
    values = {}
    for name, value in stated.items():
        at = table.below(name)
        checked = _checked(name, value, table.path.parent, at.origin)
        if KEYS[name].kind is dict:
            checked = {key: _entry(name, key, one, at.below(key)) for key, one in value.items()}
        values[name] = Known(checked, at.origin)
    if "concurrency" in values and "rate" in values:
        clash = values["rate"].origin
        raise UsageError("rate: an open loop, beside concurrency, a closed one: keep one", clash)
    return values


def _entry(table: str, key: str, value: Any, at: _Place) -> Known[Any]:
    """One entry of `[policy]` or `[severity]`."""
    if table == "policy":
        from scheduler_reader.policy import checked_threshold

        return checked_threshold(key, value, at.origin)
    levels = tuple(level for level in KEYS["fail-on"].choices if level != "never")
    if value not in levels:
        raise UsageError(
            f"{table}: {key}: takes {', '.join(levels)}, not {_shown(value)}", at.origin
        )
    return Known(value, at.origin)


def _checked(name: str, value: Any, folder: Path, origin: Origin) -> Any:
    """The value as its option takes it."""
    key = KEYS.get(name)
    if key is None:
        raise UsageError(f"{name}: no such setting; there are {', '.join(KEYS)}", origin)
    if not _has_kind(value, key.kind):
        raise UsageError(f"{name}: takes {WORDS[key.kind]}, not {_shown(value)}", origin)
    if key.choices and value not in key.choices:
        raise UsageError(f"{name}: takes {', '.join(key.choices)}, not {_shown(value)}", origin)
    if key.least is not None and not value >= key.least:
        raise UsageError(f"{name}: takes {key.least} or more, not {value}", origin)
    if key.is_positive and not value > 0:
        raise UsageError(f"{name}: takes a positive number, not {value}", origin)
    if key.kind is float:
        return float(value)
    if not key.is_path:
        return value
    paths = [_path(name, one, folder, origin) for one in (value if key.kind is list else [value])]
    if name == "workload":  # a preset's name otherwise
        return str(paths[0]) if paths[0].is_file() else value
    return paths if key.kind is list else paths[0]


def _path(name: str, value: str, folder: Path, origin: Origin) -> Path:
    """The path that a setting names, relative to its file; `UsageError` for a link out of the repository.

    A path that is written as one outside is taken as it is.
    """
    path = folder / value
    root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    if "\0" not in value and not Path(normpath(path)).is_relative_to(normpath(root)):
        return path
    inner = path.rglob("*.yaml") if name == "rules" else ()
    try:
        leads_out = not all(
            Path(realpath(p)).is_relative_to(realpath(root)) for p in (path, *inner)
        )
    except ValueError:
        raise UsageError(f"{name}: is no path", origin) from None
    if leads_out:
        raise UsageError(f"{name}: {value} is, or has, a link that leads out of {root}", origin)
    return path


def _has_kind(value: Any, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, int | float) and isfinite(value)
    return isinstance(value, kind)


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def key_lines(text: str, root: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """The line of each key and table below the table `root`, by its keys: `tomllib` keeps none."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = HEADER.match(line)
        key = None if header else KEY.match(line)
        if header:
            table = _parts(header[1])
        path = table if header else (*table, *_parts(key[1])) if key else ()
        if path[: len(root)] == root:
            inner = path[len(root) :]
            for length in range(1, len(inner) + 1):
                lines.setdefault(inner[:length], number)
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip(" \t\"'") for part in dotted.split("."))


def _at(path: Path, line: int | None = None) -> Origin:
    here = Path.cwd()
    shown = relpath(path, here) if path.is_relative_to(here) else str(path)
    return Origin("option", path=shown, line=line)
