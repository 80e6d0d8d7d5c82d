"""One step of vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py, Scheduler).

There is no prefill and no decode: a request has `known` tokens and drafts to verify, and a step
computes some of those that are not computed yet.  Running requests come first, in order; one that
gets no KV blocks has others preempted for it.  What is left of the token budget goes to waiting
requests, unless the step preempted anything.  A request's `computed` is advanced when it is
scheduled, not when its output comes, so the next step can be decided before this one has run.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch, Share
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.failure import EngineError
from scheduler_reader.simulate.kv_manager import KVManager
from scheduler_reader.simulate.output import Receiver
from scheduler_reader.simulate.pacing import Pacing
from scheduler_reader.simulate.prefix_cache import PrefixKVManager
from scheduler_reader.simulate.quiet import decode
from scheduler_reader.simulate.request import Request, Status
from scheduler_reader.simulate.rotation import Rotation, rotate


class Scheduler:
    """All requests of one engine, their KV blocks, and the decision what runs next."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour, overlap: Overlap) -> None:
        self._config = config
        self._behaviour = behaviour
        self._longest = config.max_model_len
        self._overlap = overlap
        manager = PrefixKVManager if config.enable_prefix_caching else KVManager
        self.kv: KVManager = manager(config, behaviour, overlap)
        self.running: list[Request] = []
        self.waiting = Admission(config, behaviour, self.kv, self.running)
        self._pacing = Pacing(config, behaviour)
        self._receiver = Receiver(config, behaviour, self.kv)
        self._step = 0

    def add(self, request: Request) -> None:
        """A request arrives."""
        self.waiting.add(request)

    def schedule(self) -> Batch:
        """Decide the next step and take its KV blocks."""
        self._step += 1
        batch = Batch(self._config.max_num_batched_tokens)
        chunk_limit = self._chunk_limit()
        holds_prefill = self._pacing.holds_prefill(self.running)
        self._schedule_running(batch, chunk_limit, holds_prefill)
        if not batch.preempted:
            self.waiting.admit(batch, chunk_limit, holds_prefill)
            if not holds_prefill:
                self._pacing.is_backed_up = self.waiting.is_backed_up
        if self._behaviour.scheduled_victim == "stays_listed":
            self._check_lists(batch)
        self._pacing.note(batch)
        self._advance(batch)
        return batch

    def decode(self, steps: int) -> Batch:
        """Make `quiet_steps` with no output in flight; the last of them, which is not done yet."""
        self._step += steps
        return decode(
            self.running, self.kv, steps, self._step, is_async=self._config.async_scheduling
        )

    def rotate(self, rounds: Rotation) -> list[Batch]:
        """Make `rotation` with no output in flight; the last batches, which are not done yet."""
        self._step += rounds.rounds * len(rounds.groups)
        is_async = self._config.async_scheduling
        return rotate(rounds, self.kv, self._overlap, self._step, is_async=is_async)

    def settle(self, batch: Batch) -> list[Request]:
        """The output of a batch is there; the requests that it finished, in batch order."""
        finished = set()
        for request, share in self._outputs(batch):
            if request.status is Status.finished:
                continue
            was_running = request.status is Status.running
            if self._receiver.receive(request, share):
                finished.add(request)
                if not was_running:
                    self.waiting.remove(request)
            elif self._config.num_speculative_tokens:
                self._receiver.propose(request, share)
        if not finished:
            return []
        self.running[:] = [each for each in self.running if each.status is Status.running]
        return [request for request in batch.shares if request in finished]

    def _outputs(self, batch: Batch) -> Iterable[tuple[Request, Share]]:
        """The requests that get their output, in the order in which they get it."""
        if self._behaviour.preempted_output == "lost":
            return [(each, batch.shares[each]) for each in self.running if each in batch.shares]
        return batch.shares.items()

    def _chunk_limit(self) -> int:
        """Most tokens that one request gets in this step; 0: no limit."""
        threshold = self._config.long_prefill_token_threshold
        if not self._behaviour.threshold_spares_lone_request:
            return threshold
        requests = len(self.running) + len(self.waiting)
        if threshold == 0 or requests <= 1:
            return 0
        if self._config.long_prefill_token_threshold_adaptive:
            return max(threshold, self._config.max_num_batched_tokens // requests)
        return threshold

    # Running requests

    def _schedule_running(self, batch: Batch, chunk_limit: int, holds_prefill: bool) -> None:
        position = 0
        while position < len(self.running) and batch.budget > 0:
            request = self.running[position]
            tokens = 0
            if not (holds_prefill and request.is_prefilling):
                tokens = self._next_tokens(request, chunk_limit, batch.budget)
            if tokens == 0:
                position += 1
                continue
            if not self.kv.extend(request, tokens):
                position = self._make_room(batch, request, tokens, position)
            if request.status is Status.running:
                self._run(batch, request, tokens)
                position += 1
            elif self._config.policy == "fcfs" or self._behaviour.self_preemption_ends_pass:
                break

    def _next_tokens(self, request: Request, chunk_limit: int, budget: int) -> int:
        """Tokens of a running request that this step computes; none where outputs in flight keep it
        out of the step.
        """
        awaited, computed = request.placeholders, request.computed
        if self._step < request.eligible_step or (awaited and self._must_wait(request)):
            return 0
        tokens = request.prompt_tokens + request.outputs + request.drafts + awaited - computed
        if 0 < chunk_limit < tokens:
            tokens = chunk_limit
        end = self._longest
        if self._behaviour.output_limit == "clip":
            end = min(end, request.prompt_tokens + request.max_tokens)
        if self._behaviour.keeps_last_position:
            end -= 1
        if 0 <= tokens <= budget and tokens <= end - computed:
            return tokens
        tokens = min(tokens, budget, end - computed)
        if tokens >= 0 or self._behaviour.negative_tokens == "scheduled":
            return tokens
        if self._behaviour.negative_tokens == "fatal":
            raise EngineError(f"request {request.number} is scheduled for {tokens} tokens")
        return 0

    def _must_wait(self, request: Request) -> bool:
        """Whether a request with an output in flight is left out until that has come."""
        if self._overlap.one_output:
            return True
        if self._behaviour.output_limit != "leave_out":
            return False
        # Should all drafts in flight be rejected, one token of each batch is sure to come.
        sure = request.computed + 2 - request.placeholders
        return sure >= request.prompt_tokens + request.max_tokens

    def _make_room(self, batch: Batch, request: Request, tokens: int, position: int) -> int:
        """Preempt until the request has its KV blocks or is preempted itself.

        Returns the position in the running list where the pass then stands.
        """
        while True:
            index = len(self.running) - 1
            if self._config.policy == "priority":
                index = max(range(index + 1), key=lambda each: self.running[each].rank)
            victim = self.running.pop(index)
            moves = self._behaviour.victim_moves_position
            if index < position and (
                moves == "ahead" or (moves == "scheduled" and victim in batch.shares)
            ):
                position -= 1
            if victim in batch.shares and self._behaviour.scheduled_victim == "withdrawn":
                batch.withdraw(victim)
            self._preempt(victim)
            batch.preempted.append(victim)
            if victim is request or self.kv.extend(request, tokens):
                return position

    def _preempt(self, request: Request) -> None:
        """Take everything from a running request: it will be computed anew."""
        self.kv.release(request)
        request.status = Status.preempted
        request.computed = 0
        request.preemptions += 1
        if self._behaviour.preemption_drops_drafts:
            request.drafts = 0
        if self._behaviour.preempted_output == "stale":
            request.stale = request.in_flight
            request.placeholders = 0
        self.waiting.put_back(request)

    def _check_lists(self, batch: Batch) -> None:
        """Victims that are still listed must not outnumber the running requests left out."""
        listed, running = len(batch.shares), len(self.running)
        if listed > running:
            raise EngineError(f"{listed} requests are scheduled, preempted ones too, of {running}")

    def _run(self, batch: Batch, request: Request, tokens: int) -> None:
        share = batch.add(request, request.computed, tokens)
        batch.carries_prefill |= request.is_prefilling
        if not request.drafts:
            return
        verified = request.computed + tokens - request.known - request.placeholders
        if verified > 0:
            share.drafts = request.drafts = min(request.drafts, verified)
        if not self._behaviour.keeps_scheduled_drafts:
            request.drafts = 0

    def _advance(self, batch: Batch) -> None:
        """Count what was scheduled as computed, and with async scheduling what it will sample."""
        is_async, drafts = self._config.async_scheduling, self._config.num_speculative_tokens
        eligible_step = self._step + self._overlap.decode_interval
        for request, share in batch.shares.items():
            request.computed += share.tokens
            request.in_flight += share.tokens
            known = request.prompt_tokens + request.outputs
            request.is_prefilling = request.computed < known + request.placeholders
            if is_async and not request.is_prefilling:
                request.placeholders += 1 + share.drafts
                request.drafts = drafts
                request.eligible_step = eligible_step
