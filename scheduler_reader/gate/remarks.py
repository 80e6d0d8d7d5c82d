"""What remarks in a file ask for: which codes are accepted, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_reader.parse.source import Remark
from scheduler_reader.record import Record
from scheduler_reader.rule_engine.finding import SuppressionIssue

COMMENT = re.compile(
    r"(?P<verb>ignore(?:-file)?)\s*\[(?P<codes>[^\]]{1,500})\]\s*[-:,–—]*\s*(?P<reason>.*)"
)
WORD = r"(?:[A-Za-z]+\d+|[A-Z]{2,}(?!\w))"  # a code, or its beginning in capitals
ENTRY = re.compile(rf"\s*(?P<codes>{WORD}(?:[\s,]+{WORD})*)\s*(?::(?P<reason>.*))?")
CODE = re.compile(r"[A-Z]+\d*")


class Acceptance(Record):
    """One code, or prefix of codes, that a remark accepts where it stands."""

    remark: Remark
    code: str
    reason: str
    is_file_wide: bool = False


def read_remark(remark: Remark) -> Iterator[Acceptance | SuppressionIssue]:
    """What a remark accepts, code by code, and what of it cannot be used."""
    entries = _comment(remark) if remark.kind == "comment" else _annotation(remark)
    if not entries:
        yield SuppressionIssue("not_understood", remark.text, remark.origin)
    for codes, reason, is_file_wide in entries:
        for code in codes:
            if not CODE.fullmatch(code):
                yield SuppressionIssue("unknown_code", code, remark.origin)
            elif not reason:
                yield SuppressionIssue("no_reason", code, remark.origin)
            else:
                yield Acceptance(remark, code, reason, is_file_wide)


_Entry = tuple[list[str], str, bool]  # codes, reason, whether it is about the whole file


def _comment(remark: Remark) -> list[_Entry]:
    match = COMMENT.fullmatch(remark.text)
    codes = _codes(match["codes"]) if match else []
    return (
        [(codes, match["reason"].strip(), match["verb"] == "ignore-file")]
        if match and codes
        else []
    )


def _annotation(remark: Remark) -> list[_Entry]:
    """`MEM101, CHK: reason; BAT101: another`; a reason may have semicolons of its own."""
    entries: list[_Entry] = []
    for part in re.split(r"[;\n]", remark.text):
        match = ENTRY.fullmatch(part)
        if match is not None and (match["reason"] is not None or not entries):
            entries.append((_codes(match["codes"]), (match["reason"] or "").strip(), False))
        elif entries and part.strip():
            codes, reason, is_file_wide = entries[-1]
            entries[-1] = (codes, f"{reason};{part}", is_file_wide)
        elif part.strip():
            return []
    return entries


def _codes(text: str) -> list[str]:
    return [word.upper() for word in re.split(r"[\s,]+", text) if word]
