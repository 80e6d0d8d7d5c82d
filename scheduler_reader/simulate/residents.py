"""The requests that hold KV blocks, and which of them give way when blocks run out.

Running requests take their blocks in the order of their admission; one that gets none has the
youngest preempted, until there is one or it is preempted itself (`scheduler.Scheduler` decides the
same, request by request).  A victim is computed anew, from the first of its blocks that are still
found on the free list.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.blocks import Blocks, Found
from scheduler_reader.simulate.cohort import Cohort, Ending
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import NotPlainError
from scheduler_reader.simulate.prompts import Arrived, Prompt, Prompts
from scheduler_reader.simulate.step_log import Lives


class FirstChunk(NamedTuple):
    """What a request finds when it is admitted, in tokens too, and the tokens to compute."""

    found: Found
    start: int
    tokens: int


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
        self.blocks = Blocks(config, behaviour)
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

    def first_chunk(self, request: Arrived, budget: int, limit: int | None = None) -> FirstChunk:
        """What a waiting request gets when it is admitted now: no tokens where it cannot be
        (`KVManager.admit`).
        """
        found = self.blocks.find(request.place, request.prompt_tokens)
        start = found.size * self._config.block_size
        tokens = self.prompts.first_chunk(request.prompt_tokens - start, budget, limit)
        wanted = self.blocks.wanted(
            found, request.prompt_tokens if self._reserves else start + tokens
        )
        headroom = self._config.watermark_blocks if self._in_order else 0
        return FirstChunk(found, start, tokens if wanted + headroom <= self.blocks.free else 0)

    def stays_out(self, request: Arrived, found: Found, budget: int) -> bool:
        """Whether a request that is not admitted now is not admitted later either, while blocks only
        get fewer.  It finds less and less, and a first chunk that ends earlier might fit.
        """
        if self._reserves or request.prompt_tokens <= budget:
            return True
        return self.blocks.is_lost_from_end(request.place, found)

    def admit(self, request: Arrived, chunk: FirstChunk) -> Prompt:
        """Give a waiting request the blocks of its first chunk."""
        self._in_order[request.place] = None
        tokens = chunk.start + chunk.tokens
        return Prompt(request, tokens, self.blocks.admit(request.place, chunk.found, tokens))

    # Running requests

    def decode(self, step: int, now_s: float, awaited_s: float | None) -> list[Arrived]:
        """Give all that decode their blocks of a step; who gives way for it, the first one first.

        `awaited_s` is when the step before is done, where it is in flight.
        """
        needed = self.cohort.blocks(step)
        if needed <= self.blocks.free:
            self.blocks.take(needed)
            return []
        victims = []
        for place in self.cohort.needing(step):
            while place in self._in_order and not self.blocks.free:
                victim = self._give_way(step, now_s, awaited_s)
                if victim is not None:
                    victims.append(victim)
            if place not in self._in_order:
                break
            self.blocks.take(1)
        return victims

    def extend(self, prompt: Prompt, tokens: int) -> Prompt | None:
        """Give the youngest prompt the blocks of its next tokens; None: it gives way itself."""
        place, computed = prompt.request.place, prompt.computed + tokens
        if -(-computed // self._config.block_size) - prompt.blocks <= self.blocks.free:
            blocks = self.blocks.extend(place, prompt.blocks, computed)
            return prompt._replace(computed=computed, blocks=blocks)
        self._pop()
        self.blocks.release(place, prompt.computed, prompt.computed, waits=True)
        return None

    def leave(self, ending: Ending) -> None:
        """The last token of a request is there.  It holds nothing any more if it has given way."""
        if ending.place in self._in_order:
            del self._in_order[ending.place]
            self.blocks.release(ending.place, ending.tokens, ending.tokens, waits=False)

    def _give_way(self, step: int, now_s: float, awaited_s: float | None) -> Arrived | None:
        """Preempt the youngest; None where it only waits for its last token."""
        place = self._pop()
        if self.prompts:
            prompt = self.prompts.give_up()
            self.blocks.release(place, prompt.computed, prompt.computed, waits=True)
            return prompt.request
        joined = self._lives.first_step[place]
        tokens = step - joined  # since then, the one in flight included
        if place not in self.cohort:
            computed = self._lives.prompt_tokens[place] + self._lives.output_tokens[place] - 1
            hashed = max(computed - tokens + 1, computed - 1)
            self.blocks.release(place, computed, hashed, waits=False)
            return None
        member = self.cohort.give_up(place)
        computed = member.prompt_tokens + tokens - 1
        # What is not there yet has no hash.
        hashed = computed if awaited_s is None else max(member.prompt_tokens, computed - 1)
        self.blocks.release(place, computed, hashed, waits=True)
        self._lives.pause(place, step - 1, now_s if awaited_s is None else max(now_s, awaited_s))
        rank = (0, 0, place)  # first come, first served: not looked at
        return Arrived(place, member.prompt_tokens + tokens, member.output_tokens - tokens, rank)

    def _pop(self) -> int:
        if not self._preempts:
            raise NotPlainError
        place, _ = self._in_order.popitem()
        self._lives.preempt(place)
        return place
