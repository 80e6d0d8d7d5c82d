"""What to read and what to measure next, chosen by the bottleneck: `next_steps.yaml`."""

from __future__ import annotations

import re

from scheduler_reader.data import documents
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.knowledge.metrics import metric_name
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Unknown, Value


class NextSteps(Record):
    """One source to read and one thing to measure, in words."""

    read: str
    measure: str


def next_steps(engine: ResolvedEngine, bottleneck: Value[Bottleneck]) -> NextSteps:
    """For an unknown bottleneck the general advice; the metrics are named as this release does."""
    document = documents("compat_matrix", "next_steps.yaml")["next_steps.yaml"]
    kind = "none" if isinstance(bottleneck, Unknown) else bottleneck.value.kind
    entry, release = document["kinds"][kind], engine.release
    notes = document["release_notes"].format(release=release.name)
    measure = with_metrics(entry["measure"], release)
    return NextSteps(f"{entry['read']}; release notes: {notes}", measure)


def with_metrics(text: str, release: Release) -> str:
    """The text with each `[metric]` under the name that the release gives it."""
    return re.sub(r"\[(\w+)\]", lambda found: metric_name(found.group(1), release), text)
