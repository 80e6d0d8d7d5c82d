"""What the output of a step does to its requests (Scheduler.update_from_output)."""

from __future__ import annotations

from scheduler_reader.simulate.batch import Share
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import EngineError
from scheduler_reader.simulate.kv_manager import KVManager
from scheduler_reader.simulate.request import Request, Status


class Receiver:
    """Appends sampled tokens, takes rejected drafts back, and ends requests."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour, kv: KVManager) -> None:
        self._config = config
        self._behaviour = behaviour
        self._kv = kv
        self._longest = config.max_model_len
        self._is_async = config.async_scheduling
        self._commits = config.enable_prefix_caching

    def receive(self, request: Request, share: Share) -> bool:
        """Give a request what the model returned for it; whether that ends it.

        A request preempted since then keeps the tokens, but its counters have begun anew.
        """
        request.in_flight -= share.tokens
        is_stale = request.stale > 0
        if is_stale:
            request.stale -= share.tokens
        if not share.returned:
            return False
        if share.drafts and not is_stale:
            self._take_back_rejected(request, share.drafts - (share.returned - 1))
        had_placeholders = request.placeholders > 0
        appended, is_last = self._append(request, share.returned)
        if self._is_async and not is_stale:
            self._fill_placeholders(request, appended)
        if self._commits and request.status is Status.running:
            self._commit(request, had_placeholders)
        if is_last:
            request.status = Status.finished
            self._kv.release(request)
        return is_last

    def propose(self, request: Request, share: Share) -> None:
        """The drafter proposes tokens for an unfinished request of a batch, if it sampled."""
        is_dropped = request.is_prefilling and self._behaviour.prefill_drops_drafts
        is_proposed = share.returned > 0 and not is_dropped
        request.drafts = self._config.num_speculative_tokens if is_proposed else 0

    def _take_back_rejected(self, request: Request, rejected: int) -> None:
        if request.computed > 0 or not self._behaviour.rejection_needs_progress:
            request.computed -= rejected
        if request.placeholders > 0:
            request.placeholders -= rejected

    def _append(self, request: Request, returned: int) -> tuple[int, bool]:
        """Append output up to the request's last token: how many were appended, and was it that."""
        last = request.max_tokens
        if last > self._longest - request.prompt_tokens:
            last = min(last, max(self._longest - request.prompt_tokens, 1))
        appended = min(returned, last - request.outputs)
        request.outputs += appended
        return appended, request.outputs >= last

    def _fill_placeholders(self, request: Request, appended: int) -> None:
        request.placeholders -= appended
        if request.placeholders < 0:
            raise EngineError(f"request {request.number} gets output that it does not await")

    def _commit(self, request: Request, had_placeholders: bool) -> None:
        """Make blocks that the output completed findable."""
        if not self._behaviour.hashes_accepted_drafts:
            if self._config.async_scheduling:
                self._kv.commit(request, request.computed - request.placeholders)
        elif had_placeholders or self._config.num_speculative_tokens:
            final = request.computed - request.in_flight
            self._kv.commit(request, min(final, request.known - 1))
