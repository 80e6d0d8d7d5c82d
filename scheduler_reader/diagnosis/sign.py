"""A sign of a class in what was observed, and where more than one of them begins."""

from __future__ import annotations

from scheduler_reader.diagnosis.verdict import Confidence, Default, Kind
from scheduler_reader.record import Record

FULL = 0.9  # of the KV blocks, where the length of the next prompt is not known
SEATED = 0.95  # of max_num_seqs: a request that ends leaves its seat for a step
BUSY = 0.5  # of the engine's time
FILLED = 0.7  # of the engine's time, or of the token budget


class Sign(Record):
    """A limit that the metrics show to bind, in a sentence with their figures."""

    default: Default
    kind: Kind
    sentence: str
    confidence: Confidence | None = None  # where it is not that of a verdict from metrics


def waiting_text(requests: float) -> str:
    return f"{requests:,.0f} requests wait" if round(requests) > 1 else "1 request waits"
