"""`upgrade --format json`: everything that differs between two releases, for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_reader import __version__
from scheduler_reader.privacy import MASK, is_secret_name, secrets
from scheduler_reader.report.places import location
from scheduler_reader.report.plain import plain
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.upgrade.changes import Change, SettingChange, Upgrade
from scheduler_reader.upgrade.rewrite import Rewrite
from scheduler_reader.value import Unknown, Value

SCHEMA_VERSION = "1"


def render(
    upgrades: Sequence[Upgrade],
    rewrites: Sequence[Rewrite],
    unreadable: Sequence[Unreadable] = (),
) -> str:
    """The JSON document of all engines, of what --fix did, and of unreadable inputs."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "sched-reader", "version": __version__},
        "engines": [plain(_engine(upgrade), secrets(upgrade.after.engine)) for upgrade in upgrades],
        "rewrites": [plain(_rewrite(rewrite)) for rewrite in rewrites],
        "errors": [plain({"path": bad.path, "message": bad.message}) for bad in unreadable],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _engine(upgrade: Upgrade) -> dict[str, Any]:
    before, after = upgrade.before.engine, upgrade.after.engine
    origin = after.parsed.origin
    return {
        "source": {
            "path": origin.path,
            "form": after.parsed.form,
            "line": origin.line,
            "name": after.parsed.name,
        },
        "from": before.release.name,
        "to": after.release.name,
        "hardware": {"gpu": after.hardware.gpu.name, "count": after.hardware.count},
        "model": _known(after.model_id),
        "refused": upgrade.is_refused,
        "starts": {
            "before": upgrade.before.capacity.starts,
            "after": upgrade.after.capacity.starts,
        },
        "flags": [
            {
                "kind": change.kind,
                "flag": change.flag,
                "fatal": change.is_fatal,
                "message": change.message,
                "use": change.use,
                "location": location(change.origin),
            }
            for change in upgrade.flags
        ],
        "settings": {change.name: _setting(change) for change in upgrade.settings},
        "metrics": _metrics(upgrade.metrics),
        "new_findings": [_finding(finding) for finding in upgrade.new_findings],
        "gone_findings": [_finding(finding) for finding in upgrade.gone_findings],
        "behaviours": [
            {
                "name": change.name,
                "what": change.what,
                "before": change.before,
                "after": change.after,
                "since": change.since,
            }
            for change in upgrade.behaviours
        ],
        "new_flags": [
            {"flag": new.flag, "since": new.since, "why": new.why} for new in upgrade.new_flags
        ],
        "assumptions": list(dict.fromkeys(upgrade.after.assumptions)),
    }


def _setting(change: SettingChange) -> dict[str, Any]:
    is_hidden = change.is_set and is_secret_name(change.name)
    return {
        "before": MASK if is_hidden else _known(change.before),
        "after": MASK if is_hidden else _known(change.after),
        "before_because": _because(change.before),
        "after_because": _because(change.after),
        "is_set": change.is_set,
        "controls": change.controls,
        "effect": _metrics(change.effect),
    }


def _metrics(changes: Mapping[str, Change]) -> dict[str, Any]:
    return {
        name: {"before": change.before, "after": change.after} for name, change in changes.items()
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "effect": finding.effect,
        "message": finding.message,
        "location": location(finding.origin),
        "fix": {"set": dict(finding.fix), "text": finding.fix_text},
    }


def _rewrite(rewrite: Rewrite) -> dict[str, Any]:
    return {
        "flag": rewrite.flag,
        "into": rewrite.into,
        "done": rewrite.is_done,
        "reason": rewrite.reason,
        "location": location(rewrite.origin),
    }


def _because(value: Value[Any]) -> str:
    if isinstance(value, Unknown):
        return value.reason
    return str(value.origin)


def _known(value: Value[Any]) -> Any:
    return {"unknown": value.reason} if isinstance(value, Unknown) else value.value
