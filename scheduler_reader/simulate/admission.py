"""Waiting requests, and which of them join a step (the second half of Scheduler.schedule)."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.kv_manager import NO_HIT, KVManager
from scheduler_reader.simulate.request import Request, Status
from scheduler_reader.simulate.waiting import WaitingQueue, queue_of


class Admission:
    """The waiting queue, and beside it the queue of requests that earlier steps passed over."""

    def __init__(
        self, config: EngineConfig, behaviour: Behaviour, kv: KVManager, running: list[Request]
    ) -> None:
        self._config = config
        self._behaviour = behaviour
        self._kv = kv
        self._running = running
        self._waiting: WaitingQueue[Request] = queue_of(config.policy)
        self._own: WaitingQueue[Request] = queue_of(config.policy)
        self._passed_over: set[Request] = set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._own)

    def __iter__(self) -> Iterator[Request]:
        """Waiting requests in the order in which they are looked at."""
        yield from self._own
        yield from self._waiting

    @property
    def is_backed_up(self) -> bool:
        """Whether requests wait that no step had a reason to pass over."""
        return len(self) > len(self._passed_over)

    def add(self, request: Request) -> None:
        """A request arrives."""
        self._waiting.add(request)

    def put_back(self, request: Request) -> None:
        """A preempted request returns to the head of the queue."""
        self._waiting.put_back(request)

    def remove(self, request: Request) -> None:
        """A waiting request finished: the output of an earlier step was its last."""
        queue = self._own if request in list(self._own) else self._waiting
        queue.remove(request)
        self._passed_over.discard(request)

    def stays_blocked(self, budget: int) -> bool:
        """Whether nobody who waits can join a step that has `budget` tokens left beside decodes,
        nor a later one while blocks only get fewer.

        False where that is not sure: a first chunk gets shorter when what its request finds in the
        cache does, so what does not fit now may fit later.
        """
        queue = self._next_queue()
        assert queue is not None
        request = queue.peek()
        hit = self._kv.lookup(request) if request.computed == 0 else NO_HIT
        tokens = request.known - request.computed - hit.tokens
        threshold = self._config.long_prefill_token_threshold
        is_whole = request.known <= (min(threshold, budget) if threshold else budget)
        if request.stale or not (is_whole or self._kv.reserves_known or hit is NO_HIT):
            return False
        if not self._config.enable_chunked_prefill and tokens > budget:
            return False
        first = min(tokens, budget, threshold) if threshold else min(tokens, budget)
        return not self._kv.fits(request, first, hit, beside_others=True)

    def admit(self, batch: Batch, chunk_limit: int, holds_prefill: bool) -> None:
        """Let requests from the head of the queue run until one cannot.

        `chunk_limit` is the most tokens that one of them gets (0: no limit); with `holds_prefill`
        none with more than its last token to compute may join.
        """
        passed_over: list[Request] = []
        while batch.budget > 0 and len(self._running) < self._config.active_limit:
            queue = self._next_queue()
            if queue is None:
                break
            request = queue.peek()
            if request.stale:
                passed_over.append(queue.pop())
                continue
            hit = self._kv.lookup(request) if request.computed == 0 else NO_HIT
            start = request.computed + hit.tokens
            if holds_prefill and start < request.known - 1:
                break
            tokens, drafts = self._first_tokens(batch, request, start, chunk_limit)
            if tokens > batch.budget and not self._config.enable_chunked_prefill:
                if self._behaviour.unchunked_prefill == "ends_admission":
                    break
                passed_over.append(queue.pop())
                continue
            tokens = min(tokens, batch.budget)
            if tokens == 0 or not self._kv.admit(request, tokens, hit, bool(self._running)):
                break
            queue.pop()
            self._join(batch, request, start, tokens, drafts)
        self._return(passed_over)

    def _next_queue(self) -> WaitingQueue[Request] | None:
        """The queue whose head is looked at next."""
        if self._own and self._waiting and self._config.policy == "priority":
            own_is_first = self._own.peek().rank < self._waiting.peek().rank
            return self._own if own_is_first else self._waiting
        return self._own or self._waiting or None

    def _first_tokens(
        self, batch: Batch, request: Request, start: int, chunk_limit: int
    ) -> tuple[int, int]:
        """Tokens an admitted request wants, and the drafts among them; no tokens: it is held.

        A one-token admission beside decodes is filled up with drafts, so that all requests of the
        step are equally wide.
        """
        tokens, drafts = request.known - start, 0
        if tokens == 1 and self._is_padded(batch, start):
            width = 1 + self._config.num_speculative_tokens
            room = self._config.max_model_len - start
            if self._behaviour.pads_admission == "held_for_length":
                if width > min(batch.budget, room):
                    return 0, 0
                tokens, drafts = width, width - 1
            elif width < room:
                if width > batch.budget:
                    return 0, 0
                tokens, drafts = width, width - 1
        if 0 < chunk_limit < tokens:
            tokens = chunk_limit
        return tokens, drafts

    def _is_padded(self, batch: Batch, start: int) -> bool:
        pads = self._behaviour.pads_admission
        if pads == "never" or not self._config.num_speculative_tokens or batch.carries_prefill:
            return False
        return batch.has_running or (pads == "after_hits" and start > 0)

    def _join(self, batch: Batch, request: Request, start: int, tokens: int, drafts: int) -> None:
        self._passed_over.discard(request)
        self._running.append(request)
        (batch.new if request.status is Status.waiting else batch.resumed).append(request)
        batch.admits_prefill |= start < request.known - 1
        batch.add(request, start, tokens).drafts = drafts
        request.status = Status.running
        request.computed = start

    def _return(self, passed_over: list[Request]) -> None:
        """Put requests that were passed over back to the head of their queue."""
        self._passed_over.update(passed_over)
        queue = self._own if self._behaviour.passed_over_queue == "own" else self._waiting
        keeps_order = not self._behaviour.passed_over_reversed
        for request in reversed(passed_over) if keeps_order else passed_over:
            queue.put_back(request)
