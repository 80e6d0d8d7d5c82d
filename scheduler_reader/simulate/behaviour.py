"""What the scheduler of one vLLM release does where releases differ.

The mechanisms are code; which release has which is `compat_matrix/scheduler.yaml`, where every
field below has its meaning, its releases and its source.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Literal

from packaging.version import Version

from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.scheduler_behaviour import (
    FILE,
    scheduler_behaviour,
    scheduler_behaviours,
)
from scheduler_reader.knowledge.versions import Release


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The rules of one release; each field is an entry of `compat_matrix/scheduler.yaml`."""

    threshold_spares_lone_request: bool
    output_limit: Literal["none", "clip", "leave_out"]
    keeps_last_position: bool
    negative_tokens: Literal["scheduled", "fatal", "none"]
    scheduled_victim: Literal["stays_listed", "stays", "withdrawn"]
    victim_moves_position: Literal["none", "scheduled", "ahead"]
    self_preemption_ends_pass: bool
    preempted_output: Literal["lost", "applied", "stale"]

    reserves_known_tokens: bool
    window_reservation: Literal["full", "budget", "in_flight"]
    unchunked_prefill: Literal["impossible", "passed_over", "ends_admission"]
    unchunked_drops_threshold: bool
    passed_over_queue: Literal["common", "own"]
    passed_over_reversed: bool
    paces_alone: bool

    keeps_scheduled_drafts: bool
    preemption_drops_drafts: bool
    prefill_drops_drafts: bool
    rejection_needs_progress: bool
    pads_admission: Literal["never", "held_for_length", "beside_decodes", "after_hits"]
    hashes_accepted_drafts: bool

    hashes_from_previous_block: bool
    lookup_ends_at_last_hash: bool
    free_order: Literal["end", "window_unhashed_first", "unhashed_first"]
    window_follows_output: bool

    async_pipeline: Literal["refused", "one_output", "stages", "runner"]
    runner_drafts_ngram: bool
    queues_empty_steps: bool

    schedules_by_priority: bool
    pipeline_needs_executor: bool
    mixes_window_layers: bool
    refuses_threshold_above_length: bool


@cache
def behaviour_of(release: Release) -> Behaviour:
    """The rules of a release; one older than all entries is read as the oldest of them."""
    entries = scheduler_behaviours()
    names = {field.name for field in fields(Behaviour)}
    if names != set(entries):
        raise DataError(f"{FILE}: no such behaviour, or none of it: {sorted(names ^ set(entries))}")
    return Behaviour(**{name: scheduler_behaviour(release, name) for name in entries})


def oldest_simulated() -> Version:
    """The release from which on every behaviour is known."""
    entries = scheduler_behaviours().values()
    return max(Version(entry["values"][0]["since"]) for entry in entries)
