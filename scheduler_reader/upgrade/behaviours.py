"""What the scheduler does otherwise in the later release, and options that are new there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.flags import flag_table, lifetime
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.upgrade.changes import BehaviourChange, NewFlag
from scheduler_reader.value import Unknown


def behaviour_changes(before: ResolvedEngine, after: ResolvedEngine) -> tuple[BehaviourChange, ...]:
    """What moved and matters for these settings, in release order."""
    data = documents("compat_matrix")
    needs = data["upgrade.yaml"]["behaviour_needs"]
    changes = _also_changed(before, after)
    for name, entry in data["scheduler.yaml"]["behaviours"].items():
        old = _at(entry["values"], before.release.version)
        new = _at(entry["values"], after.release.version)
        if old["value"] != new["value"] and _matters(needs.get(name, {}), after):
            changes.append(_moved(name, entry, old, new))
    return tuple(sorted(changes, key=lambda change: Version(change.since)))


def _moved(
    name: str, entry: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]
) -> BehaviourChange:
    """A moved behaviour in words: those of the two values, where `what` words each value.

    `what` then reads "question: first; second; third", as many as there are values.
    """
    what = " ".join(entry["what"].split())
    before, after = old["value"], new["value"]
    question, _, answers = what.partition(": ")
    words = [answer.removeprefix("or ") for answer in answers.split("; ")]
    if len(words) == len(entry["values"]):
        what = question
        before, after = (words[entry["values"].index(one)] for one in (old, new))
    return BehaviourChange(name, what, before, after, str(new["since"]))


def new_flags(before: ResolvedEngine, after: ResolvedEngine) -> tuple[NewFlag, ...]:
    """Options worth a look that the later release has, the earlier has not, and nobody set."""
    useful: Mapping[str, str] = documents("compat_matrix")["upgrade.yaml"]["useful_flags"]
    earlier, later = flag_table(before.release), flag_table(after.release)
    found = []
    for option, why in useful.items():
        flag = later.flags.get(option)
        if flag is None or option in earlier.flags or flag.argument in after.flags.settings:
            continue
        life = lifetime(option)
        found.append(NewFlag(option, life[0] if life else flag.since, why))
    return tuple(found)


def _also_changed(before: ResolvedEngine, after: ResolvedEngine) -> list[BehaviourChange]:
    """What changed once and for all, at start-up or in the server."""
    entries = documents("compat_matrix")["upgrade.yaml"]["also_changed"]
    return [
        BehaviourChange(name, entry["what"], False, True, str(entry["at"]))
        for name, entry in entries.items()
        if before.release.version < Version(str(entry["at"])) <= after.release.version
        and _matters(entry.get("needs", {}), after)
    ]


def _at(values: Sequence[Mapping[str, Any]], release: Version) -> Mapping[str, Any]:
    """The entry of a timeline that applies; the first holds for all releases before it."""
    applying = [entry for entry in values if Version(str(entry["since"])) <= release]
    return applying[-1] if applying else values[0]


def _matters(needs: Mapping[str, Any], engine: ResolvedEngine) -> bool:
    for name, wanted in needs.items():
        if name == "window_layers":
            holds = _has_window_layers(engine)
        elif wanted == "set":
            holds = engine.is_set(name)
        else:
            value = engine.value(name)
            holds = isinstance(value, Unknown) or value.value in wanted
        if not holds:
            return False
    return True


def _has_window_layers(engine: ResolvedEngine) -> bool:
    """Whether some layer attends to a window; an unknown model may have one."""
    if isinstance(engine.model, Unknown):
        return True
    return "sliding" in engine.model.value.layer_kinds
