"""The baseline's file: read with the line of each entry, and written alike whoever writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from scheduler_reader.errors import UsageError
from scheduler_reader.gate.baseline import Baseline, Entry, in_order
from scheduler_reader.gate.fingerprint import Identity
from scheduler_reader.value import Origin

VERSION = 1
TEXTS = ("path", "engine", "code", "argument", "reason")
KEYS = (*TEXTS, "count", "expires")


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
    return Baseline(path, in_order(_entries(node, path)))


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


def baseline_text(baseline: Baseline) -> str:
    """The file's text: JSON where its name ends so, else YAML."""
    document = {"version": VERSION, "findings": [_plain(entry) for entry in baseline.entries]}
    if baseline.path.suffix == ".json":
        return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
