"""`compat --format json`: pairs of features for machines."""

from __future__ import annotations

import json
from typing import Any

from scheduler_reader.compat.answers import Answer
from scheduler_reader.compat.pairs import Cell, PairVerdict


def render(answer: Answer) -> str:
    """The JSON document of one answer."""
    document = {
        "schema_version": "1",
        "vllm_version": answer.release.name,
        "documentation": answer.page,
        "status": answer.status,
        "features": [
            {
                "name": feature.name,
                "title": feature.title,
                "flag": feature.flag,
                "exists": feature not in answer.absent,
                "since": feature.since,
                "until": feature.until,
            }
            for feature in answer.features
        ],
        "pairs": [_pair(pair) for pair in answer.pairs],
        "unknown_pairs": [list(pair) for pair in answer.open_pairs],
        "absent": [feature.name for feature in answer.absent],
        "undocumented_gpu": answer.undocumented_gpu,
        "hardware": [
            {"feature": name, "hardware": kind, **_cell(cell)}
            for name, kind, cell in answer.hardware
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _pair(pair: PairVerdict) -> dict[str, Any]:
    return {
        "features": [pair.first, pair.second],
        "status": pair.status,
        "since": pair.since,
        "until": pair.until,
        "reason": pair.reason,
        "rules": list(pair.rules),
        "documented": pair.documented and _cell(pair.documented),
        "code": pair.code and _cell(pair.code),
        "contradicted": pair.is_contradicted,
        "note": pair.note,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {"status": cell.status, "from": cell.since, "to": cell.until, "reason": cell.reason}
