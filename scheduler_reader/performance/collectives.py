"""The all-reduces of a tensor-parallel layer: `compat_matrix/collectives.yaml`."""

from __future__ import annotations

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record

LAYER_ALL_REDUCES = 2  # after attention and after the MLP


class NormReduction(Record):
    """All-reduces of a layer for norms over all heads, and the bytes of a token in one."""

    all_reduces: int
    token_bytes: float


def norms_over_all_heads(release: Release, architecture: str) -> NormReduction:
    """What the query and key norms of an architecture send; nothing where they are by head."""
    table = documents("compat_matrix", "collectives.yaml")["collectives.yaml"][
        "norms_over_all_heads"
    ]
    entries = table["all_reduces"].get(architecture, ())
    if not entries:
        return NormReduction(0, 0.0)
    count = next(entry["count"] for entry in entries if release.meets(entry["versions"]))
    return NormReduction(count, float(table["bytes_a_token"]))
