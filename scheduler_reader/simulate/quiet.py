"""Quiet steps: every running request decodes one token, and nobody joins, ends or gives way.

How many of them lie ahead can be told from counts, and what so many do to the scheduler's state
too: the run between two decisions costs as much as one step.  Not looked for with drafts, window
groups and paced prefill, where a step's batch is not simply all that run; for pipeline stages see
`rotation`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.record import Record
from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch, Share
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.kv_manager import KVManager
from scheduler_reader.simulate.request import Request, Status


class Quiet(Record):
    """So many steps, but only up to the next arrival where `ends_at_arrival`."""

    steps: int
    ends_at_arrival: bool


NOT_QUIET = Quiet(0, ends_at_arrival=False)


def can_be_quiet(config: EngineConfig) -> bool:
    """Whether the settings let decoding requests go on by themselves."""
    return (
        config.pipeline_parallel_size == 1
        and config.num_speculative_tokens == 0
        and config.sliding_window is None
        and config.prefill_schedule_interval == 1
    )


def quiet_steps(
    config: EngineConfig,
    running: Sequence[Request],
    waiting: Admission,
    kv: KVManager,
    in_flight: Sequence[Batch],
) -> Quiet:
    """The quiet steps ahead; the last of them may bring somebody's last token."""
    if not running or running[-1].is_prefilling:
        return NOT_QUIET
    if len(in_flight) != config.async_scheduling or not _awaits_all(running, in_flight):
        return NOT_QUIET
    budget = config.max_num_batched_tokens - len(running)
    if budget < 0:
        return NOT_QUIET
    is_full = budget == 0 or len(running) >= config.active_limit
    if not is_full and waiting and not waiting.stays_blocked(budget):
        return NOT_QUIET
    most = _most_tokens(running, config)
    if most > 1:
        most = kv.steps_with_room(running, most)
    ends_at_arrival = not is_full and (not waiting or config.policy == "priority")
    return Quiet(most, ends_at_arrival)


def _awaits_all(running: Sequence[Request], in_flight: Sequence[Batch]) -> bool:
    """Whether the batch in flight, if there is one, brings all that run their next token."""
    if not in_flight:
        return True
    shares = in_flight[0].shares
    if len(shares) != len(running):
        return False
    return all(
        share.samples and request.status is Status.running for request, share in shares.items()
    )


def _most_tokens(running: Sequence[Request], config: EngineConfig) -> int:
    """Tokens that everybody can still be scheduled for, one a step; 0: somebody is not decoding."""
    awaited, longest = int(config.async_scheduling), config.max_model_len
    most = longest
    for request in running:
        prompt, outputs = request.prompt_tokens, request.outputs
        if (
            request.placeholders != awaited
            or request.is_prefilling
            or request.stale
            or prompt + outputs + awaited - request.computed != 1
        ):
            return 0
        left = min(request.max_tokens, longest - prompt) - outputs - awaited
        most = min(most, left)
    return most


def decode(
    running: Sequence[Request], kv: KVManager, steps: int, step: int, *, is_async: bool
) -> Batch:
    """Make quiet steps with no output in flight: all are done but the last, which is returned.

    `step` is the number of the last one.
    """
    kv.extend_all(running, steps)
    batch = Batch(0)
    placeholders = int(is_async)
    for request in running:
        request.computed += steps
        request.outputs += steps - 1
        request.in_flight = 1
        request.placeholders = placeholders
        request.eligible_step = step + placeholders
        kv.commit(request, request.computed - placeholders)
        batch.shares[request] = Share(request.computed - 1, 1, True, 0, 1)
    return batch
