"""What a release makes of two features together, or of a feature on a kind of hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scheduler_reader.compat.features import Feature, data
from scheduler_reader.knowledge.versions import Release, releases

Status = Literal["yes", "partial", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one source says over a range of releases."""

    status: Status
    since: str
    until: str
    reason: str | None = None
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Two features in one release.  The code decides where it says something, else the pages.

    `since` and `until` are the consecutive releases with this status; `until` is None while the
    newest release still has it.
    """

    first: str
    second: str
    status: Status
    since: str | None
    until: str | None
    documented: Cell | None
    code: Cell | None
    note: str | None

    @property
    def is_contradicted(self) -> bool:
        """Whether documentation and code say different things."""
        return (
            self.documented is not None
            and self.code is not None
            and "unknown" not in (self.documented.status, self.code.status)
            and self.documented.status != self.code.status
        )

    @property
    def reason(self) -> str | None:
        """Why, in the words of the source that decides."""
        cell = self.code or self.documented
        return cell.reason if cell else None

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of our rules that find it in a configuration."""
        return self.code.rules if self.code else ()


def pair_verdict(one: Feature, other: Feature, release: Release) -> PairVerdict | None:
    """What is known of two features in a release; None where nothing is, in any release."""
    first, second = sorted((one.name, other.name))
    key = f"{first} + {second}"
    documented, code = data()["documented"].get(key, ()), data()["code"].get(key, ())
    if not documented and not code:
        return None
    status = _status(documented, code, release)
    since, until = _span(documented, code, release, status)
    return PairVerdict(
        first=first,
        second=second,
        status=status,
        since=since,
        until=until,
        documented=_cell(documented, release),
        code=_cell(code, release),
        note=data()["notes"].get(key),
    )


def hardware_cell(feature: Feature, hardware: str, release: Release) -> Cell | None:
    """What the pages of a release say of a feature on a kind of hardware."""
    return _cell(data()["hardware"].get(f"{feature.name} @ {hardware}", ()), release)


def documentation_page(release: Release) -> str | None:
    """The page of the release's documentation that has the table."""
    pages = data()["pages"]
    return next((p["page"] for p in pages if release.within(str(p["from"]), str(p["to"]))), None)


def _status(
    documented: Sequence[Mapping[str, Any]], code: Sequence[Mapping[str, Any]], release: Release
) -> Status:
    cell = _cell(code, release) or _cell(documented, release)
    return cell.status if cell else "unknown"


def _span(
    documented: Sequence[Mapping[str, Any]],
    code: Sequence[Mapping[str, Any]],
    release: Release,
    status: Status,
) -> tuple[str | None, str | None]:
    """First and last of the consecutive releases around `release` that have the same status."""
    names = releases()
    at = first = last = release.position
    if status == "unknown":
        return None, None
    while first and _status(documented, code, Release(names[first - 1])) == status:
        first -= 1
    while last + 1 < len(names) and _status(documented, code, Release(names[last + 1])) == status:
        last += 1
    assert first <= at <= last
    return names[first], None if last + 1 == len(names) else names[last]


def _cell(ranges: Sequence[Mapping[str, Any]], release: Release) -> Cell | None:
    for entry in ranges:
        if release.within(str(entry["from"]), str(entry["to"])):
            reason = entry.get("reason") or (entry.get("ref") and f"vLLM {entry['ref']}")
            return Cell(
                entry["status"],
                str(entry["from"]),
                str(entry["to"]),
                reason,
                tuple(entry.get("rules", ())),
            )
    return None
