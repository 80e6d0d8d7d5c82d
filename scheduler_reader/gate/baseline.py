"""Findings that were there before: known ones do not fail a run, new ones do.

An entry names a finding by file, engine, code and argument, never by its line or its words, so it
holds while the file changes around it.  Paths are relative to the baseline's own folder.
"""

from __future__ import annotations

import json
import os.path
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from scheduler_reader.errors import UsageError
from scheduler_reader.gate.fingerprint import Identity
from scheduler_reader.value import Origin

VERSION = 1
TEXTS = ("path", "engine", "code", "argument", "reason")
KEYS = (*TEXTS, "count", "expires")
UNSAID = "in the baseline"


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding that is known, or `count` that nothing tells apart; it holds to the end of `expires`."""

    identity: Identity
    count: int = 1
    reason: str = ""
    expires: date | None = None
    line: int | None = None

    def is_over(self, today: date) -> bool:
        """Whether its last day has passed, so that the finding counts again."""
        return self.expires is not None and self.expires < today


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file: its entries, sorted."""

    path: Path
    entries: tuple[Entry, ...] = ()

    def place(self, entry: Entry) -> Origin:
        """Where an entry stands."""
        return Origin("file", path=str(self.path), line=entry.line)

    def seen_from_here(self, identity: Identity) -> Identity:
        """An identity with its path relative to the folder of the baseline."""
        return identity._replace(path=self.path_from_here(identity.path))

    def path_from_here(self, path: str) -> str:
        """A path, relative to the working folder or absolute, as it is seen from the baseline."""
        if not path or path.startswith("<"):
            return path
        return Path(os.path.relpath(path, self.path.parent)).as_posix()

    def updated(self, identities: Iterable[Identity], kept: Iterable[Entry]) -> Baseline:
        """The baseline of what is found now and of the entries that this run says nothing about.

        An entry that stays keeps its reason and its last day.
        """
        known = {entry.identity: entry for entry in self.entries}
        counts = Counter(map(self.seen_from_here, identities))
        entries = [
            replace(known.get(identity, Entry(identity)), count=count)
            for identity, count in counts.items()
        ]
        return Baseline(self.path, _in_order((*entries, *kept)))

    @property
    def text(self) -> str:
        """The file's text: JSON where its name ends so, else YAML."""
        document = {"version": VERSION, "findings": [_plain(entry) for entry in self.entries]}
        if self.path.suffix == ".json":
            return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file; a `UsageError` names file and line of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such baseline; --write-baseline {path} makes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    try:
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        reason = getattr(error, "problem", None) or "nested too deeply"
        raise UsageError(f"{path}: is not valid YAML or JSON: {reason}") from None
    return Baseline(path, _in_order(_entries(node, path)))


def _in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.identity))


def _entries(node: yaml.Node | None, path: Path) -> Iterator[Entry]:
    document = {} if node is None else _content(node)
    whole = Origin("file", path=str(path))
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UsageError(f"is no baseline of version {VERSION}", whole)
    findings = next((value for key, value in _pairs(node) if key.value == "findings"), None)
    if not isinstance(findings, yaml.SequenceNode):
        raise UsageError("findings: is no list", whole)
    seen: set[Identity] = set()
    for item in findings.value:
        origin = Origin("file", path=str(path), line=item.start_mark.line + 1)
        entry = _entry(_content(item), origin)
        if entry.identity in seen:
            raise UsageError("the same finding stands here again; use count", origin)
        seen.add(entry.identity)
        yield entry


def _entry(content: Any, origin: Origin) -> Entry:
    if not isinstance(content, dict):
        raise UsageError("an entry is a mapping with path and code", origin)
    for key, value in content.items():
        if key not in KEYS:
            raise UsageError(f"{key}: no such key; there are {', '.join(KEYS)}", origin)
        if key in TEXTS and not isinstance(value, str):
            raise UsageError(f"{key}: takes text, not {value}", origin)
    for key in ("path", "code"):
        if not content.get(key):
            raise UsageError(f"{key}: missing", origin)
    count = content.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise UsageError(f"count: takes 1 or more, not {count}", origin)
    identity = Identity(*(content.get(key, "") for key in Identity._fields))
    expires = _day(content.get("expires"), origin)
    return Entry(identity, count, content.get("reason", ""), expires, origin.line)


def _day(value: Any, origin: Origin) -> date | None:
    """A day as YAML reads it, or as JSON has it in quotes."""
    if value is None or type(value) is date:
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise UsageError(f"expires: takes a day such as 2027-01-31, not {value}", origin) from None


def _content(node: yaml.Node) -> Any:
    try:
        return yaml.constructor.SafeConstructor().construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"line {node.start_mark.line + 1} of the baseline: {error}") from None


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _plain(entry: Entry) -> Mapping[str, Any]:
    """An entry as it is written: without what is empty, in the order of `KEYS`."""
    content: dict[str, Any] = {key: text for key, text in entry.identity._asdict().items() if text}
    if entry.count > 1:
        content["count"] = entry.count
    if entry.reason:
        content["reason"] = entry.reason
    if entry.expires is not None:
        content["expires"] = entry.expires
    return content
