"""The requests that hold KV blocks, and which of them give way when blocks run out.

Running requests take their blocks in the order of their admission; one that gets none has the
youngest preempted, until there is one or it is preempted itself (`scheduler.Scheduler` decides the
same, request by request).  A victim is computed anew, from the first of its blocks that are still
found on the free list.
"""

from __future__ import annotations

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.cohort import Cohort, Ending
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.free_blocks import FreeBlocks
from scheduler_reader.simulate.prompts import Arrived, Prompt, Prompts
from scheduler_reader.simulate.step_log import Lives


class NotPlainError(Exception):
    """A decision of this run depends on more than counts."""


class Residents:
    """Decoding requests, prompts that have begun, and requests whose last token is in flight.

    With `preempts` False, and where a release or a setting makes more of a preemption than is done
    here, the first one is a `NotPlainError`.
    """

    def __init__(
        self,
        config: EngineConfig,
        behaviour: Behaviour,
        lives: Lives,
        *,
        is_async: bool,
        preempts: bool,
    ) -> None:
        self._config = config
        self._lives = lives
        self._reserves = behaviour.reserves_known_tokens and config.scheduler_reserve_full_isl
        overdue_steps = int(is_async and behaviour.output_limit == "none")
        last_position = config.max_model_len - int(behaviour.keeps_last_position)
        self.cohort = Cohort(config.block_size, last_position, overdue_steps)
        self.prompts = Prompts(config, behaviour)
        self.free = FreeBlocks(config, behaviour)
        self._in_order: dict[int, None] = {}  # places, in order of admission
        self._preempts = (
            preempts
            and config.policy == "fcfs"
            and not config.long_prefill_token_threshold
            and not overdue_steps
            and (behaviour.lookup_ends_at_last_hash or not config.enable_prefix_caching)
        )

    def __len__(self) -> int:
        return len(self._in_order)

    # Waiting requests

    def first_chunk(
        self, request: Arrived, budget: int, limit: int | None = None
    ) -> tuple[int, int]:
        """(tokens that are there, tokens to compute) of a waiting request; none of the latter where
        it cannot be admitted (`KVManager.admit`).
        """
        size = self._config.block_size
        start = self.free.found(request.place) * size
        if start >= request.prompt_tokens:
            raise NotPlainError
        tokens = self.prompts.first_chunk(request.prompt_tokens - start, budget, limit)
        needed = request.prompt_tokens if self._reserves else start + tokens
        headroom = self._config.watermark_blocks if self._in_order else 0
        fits = -(-needed // size) + headroom <= self.free.count
        return start, tokens if fits else 0

    def stays_out(self, request: Arrived, budget: int) -> bool:
        """Whether a request that is not admitted now is not admitted later either, while blocks only
        get fewer: a first chunk ends earlier when less is found, so it might fit.
        """
        is_sure = self._reserves or request.prompt_tokens <= budget
        return is_sure or not self.free.found(request.place)

    def admit(self, request: Arrived, tokens: int) -> Prompt:
        """Give a waiting request blocks for so many tokens, those that are there included."""
        blocks = self._blocks(tokens)
        self._in_order[request.place] = None
        self.free.admit(request.place, blocks)
        return Prompt(request, tokens, blocks)

    # Running requests

    def decode(self, step: int, now_s: float, awaited_s: float | None) -> list[Arrived]:
        """Give all that decode their blocks of a step; who gives way for it, the first one first.

        `awaited_s` is when the step before is done, where it is in flight.
        """
        needed = self.cohort.blocks(step)
        if needed <= self.free.count:
            self.free.take(needed)
            return []
        victims = []
        for place in self.cohort.needing(step):
            while place in self._in_order and not self.free.count:
                victim = self._give_way(step, now_s, awaited_s)
                if victim is not None:
                    victims.append(victim)
            if place not in self._in_order:
                break
            self.free.take(1)
        return victims

    def extend(self, prompt: Prompt, tokens: int) -> Prompt | None:
        """Give the youngest prompt the blocks of its next tokens; None: it gives way itself."""
        computed = prompt.computed + tokens
        blocks = self._blocks(computed)
        if blocks - prompt.blocks <= self.free.count:
            self.free.take(blocks - prompt.blocks)
            return prompt._replace(computed=computed, blocks=blocks)
        self._pop()
        self._give_up(prompt.request.place, prompt.computed, prompt.computed)
        return None

    def leave(self, ending: Ending) -> None:
        """The last token of a request is there.  It holds nothing any more if it has given way."""
        if ending.place in self._in_order:
            del self._in_order[ending.place]
            self._give_back(ending.tokens, ending.tokens)

    def _give_way(self, step: int, now_s: float, awaited_s: float | None) -> Arrived | None:
        """Preempt the youngest; None where it only waits for its last token."""
        place = self._pop()
        if self.prompts:
            prompt = self.prompts.give_up()
            self._give_up(place, prompt.computed, prompt.computed)
            return prompt.request
        joined = self._lives.first_step[place]
        tokens = step - joined  # since then, the one in flight included
        if place not in self.cohort:
            computed = self._lives.prompt_tokens[place] + self._lives.output_tokens[place] - 1
            self._give_back(computed, max(computed - tokens + 1, computed - 1))
            return None
        member = self.cohort.give_up(place)
        computed = member.prompt_tokens + tokens - 1
        # What is not there yet has no hash.
        hashed = computed if awaited_s is None else max(member.prompt_tokens, computed - 1)
        self._give_up(place, computed, hashed)
        self._lives.pause(place, step - 1, now_s if awaited_s is None else max(now_s, awaited_s))
        rank = (0, 0, place)  # first come, first served: not looked at
        return Arrived(place, member.prompt_tokens + tokens, member.output_tokens - tokens, rank)

    def _pop(self) -> int:
        if not self._preempts:
            raise NotPlainError
        place, _ = self._in_order.popitem()
        self._lives.preempt(place)
        return place

    def _give_up(self, place: int, tokens: int, hashed: int) -> None:
        whole = hashed // self._config.block_size
        self.free.give_up(place, whole, self._blocks(tokens) - whole)

    def _give_back(self, tokens: int, hashed: int) -> None:
        whole = hashed // self._config.block_size
        self.free.give_back(whole, self._blocks(tokens) - whole)

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self._config.block_size)
