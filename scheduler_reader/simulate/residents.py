"""The requests that hold KV blocks, and which of them give way when blocks run out.

Running requests take their blocks in the order of their admission; one that gets none has the
youngest preempted, until there is one or it is preempted itself (`scheduler.Scheduler` decides the
same, request by request).  A victim is computed anew, from the first of its blocks that are still
found on the free list.
"""

from __future__ import annotations

from scheduler_reader.record import Record
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.blocks import Blocks, Found
from scheduler_reader.simulate.cohort import Cohort, Ending
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import NotPlainError
from scheduler_reader.simulate.prompts import Arrived, Prompt, Prompts
from scheduler_reader.simulate.step_log import Lives


class FirstChunk(Record):
    """What a request finds when it is admitted, in tokens too, and the tokens to compute."""

    found: Found
    start: int
    tokens: int


class Running(Record):
    """The next chunks of the prompts that have begun, with their tokens, and who gave way, the first
    one first.
    """

    chunks: list[tuple[Prompt, int]]
    victims: list[Arrived]


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

    def schedule(self, step: int, limit: int, now_s: float, awaited_s: float | None) -> Running:
        """Give all that run their blocks of a step, in which a prompt gets at most `limit` tokens.

        `awaited_s` is when the step before is done, where it is in flight.
        """
        shares = self.prompts.shares(self._config.max_num_batched_tokens - self.cohort.size, limit)
        decoding = self.cohort.blocks(step)
        if decoding + sum([self._more(*share) for share in shares]) <= self.blocks.free:
            self.blocks.take(decoding)
            return Running([(self._longer(*share), share[1]) for share in shares], [])
        return self._schedule_in_turn(step, limit, now_s, awaited_s)

    def _schedule_in_turn(
        self, step: int, limit: int, now_s: float, awaited_s: float | None
    ) -> Running:
        running = Running([], [])
        budget = self._config.max_num_batched_tokens
        for place in list(self._in_order):
            prompt = self.prompts.begun(place)
            if prompt:
                tokens = self.prompts.share(prompt, budget, limit)
                blocks = self._more(prompt, tokens)
            elif place in self.cohort:
                tokens, blocks = 1, int(self.cohort.takes_block(step, place))
            else:
                continue
            while place in self._in_order and blocks > self.blocks.free:
                victim = self._give_way(step, now_s, awaited_s)
                if victim is not None:
                    running.victims.append(victim)
            if place not in self._in_order:
                break
            budget -= tokens
            if prompt:
                running.chunks.append((self._longer(prompt, tokens), tokens))
            else:
                self.blocks.take(blocks)
        return running

    def _more(self, prompt: Prompt, tokens: int) -> int:
        """Blocks that a prompt takes with its next tokens."""
        return -(-(prompt.computed + tokens) // self._config.block_size) - prompt.blocks

    def _longer(self, prompt: Prompt, tokens: int) -> Prompt:
        """A prompt with its next tokens, for which it takes the blocks."""
        computed = prompt.computed + tokens
        blocks = self.blocks.extend(prompt.request.place, prompt.blocks, computed)
        return prompt._replace(computed=computed, blocks=blocks)

    def leave(self, ending: Ending) -> None:
        """The last token of a request is there.  It holds nothing any more if it has given way."""
        if ending.place in self._in_order:
            del self._in_order[ending.place]
            self.blocks.release(ending.place, ending.tokens, ending.tokens, waits=False)

    def _give_way(self, step: int, now_s: float, awaited_s: float | None) -> Arrived | None:
        """Preempt the youngest; None where it only waits for its last token."""
        if not self._preempts:
            raise NotPlainError
        place, _ = self._in_order.popitem()
        self._lives.preempt(place)
        if place in self.prompts:
            prompt = self.prompts.give_up(place)
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
