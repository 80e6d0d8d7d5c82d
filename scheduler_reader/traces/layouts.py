"""The columns of the trace layouts that are read, and what their time column counts.

Published layouts: Azure/AzurePublicDataset (LLM inference 2023 and 2024), HPMLL/BurstGPT and
kvcache-ai/Mooncake (FAST'25 traces).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime


def _seconds(text: object) -> float:
    return float(str(text))


def _milliseconds(text: object) -> float:
    return float(str(text)) / 1e3


def _date(text: object) -> float:
    """A date with or without a time zone, to the microsecond; without one it is UTC."""
    moment = datetime.fromisoformat(str(text).strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the columns, in lower case."""

    name: str
    prompt: str
    output: str
    time: str
    time_s: Callable[[object], float]
    time_is_optional: bool = False
    skips_unanswered: bool = False  # a row with no output tokens is a failed request, left out

    def fits(self, columns: Collection[str]) -> bool:
        needed = {self.prompt, self.output}
        if not self.time_is_optional:
            needed.add(self.time)
        return needed <= set(columns)


HASH_IDS = (
    "hash_ids"  # Mooncake: one id for each 512 prompt tokens, equal where all before is equal
)
HASH_BLOCK_TOKENS = 512

LAYOUTS = (
    Layout("Azure", "contexttokens", "generatedtokens", "timestamp", _date, skips_unanswered=True),
    Layout(
        "BurstGPT",
        "request tokens",
        "response tokens",
        "timestamp",
        _seconds,
        skips_unanswered=True,
    ),
    Layout("Mooncake", "input_length", "output_length", "timestamp", _milliseconds),
    Layout("own", "input_tokens", "output_tokens", "time_s", _seconds, time_is_optional=True),
)


def layout_of(columns: Collection[str]) -> Layout | None:
    """The layout that has all its columns there, or None."""
    return next((layout for layout in LAYOUTS if layout.fits(columns)), None)


def expected_columns() -> str:
    """What a trace may look like, for an error message."""
    return "; ".join(
        f"{layout.name}: {', '.join((layout.time, layout.prompt, layout.output))}"
        for layout in LAYOUTS
    )
