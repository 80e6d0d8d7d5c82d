"""Findings that were there before: known ones do not fail a run, new ones do.

An entry names a finding by file, engine, code and argument, never by its line or its words, so it
holds while the file changes around it.  Paths are relative to the baseline's own folder.
"""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from scheduler_reader.gate.fingerprint import Identity
from scheduler_reader.value import Origin

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
        return Baseline(self.path, in_order((*entries, *kept)))


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.identity))
