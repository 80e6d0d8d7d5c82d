"""What a user states about findings beside the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scheduler_reader.record import Record

if TYPE_CHECKING:
    from datetime import date

    from scheduler_reader.gate.baseline import Baseline
    from scheduler_reader.rule_engine.finding import Severity
    from scheduler_reader.value import Known


class Controls(Record):
    """Severities by prefixes of codes, and the baseline; `today` is what its entries are held against
    (None: the day of the run)."""

    severities: Mapping[str, Known[Severity]] = {}
    baseline: Baseline | None = None
    writes_baseline: bool = False  # take what is found into it
    today: date | None = None
