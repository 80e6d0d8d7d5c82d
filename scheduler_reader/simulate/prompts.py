"""Prompts that have begun and are not whole yet, and how much of them a step computes.

Without `long_prefill_token_threshold` there is one at most, the last that was admitted.  With it
there may be several.  Requests take the token budget in the order of their admission, yet decodes
may be counted first: a request is only admitted to what older prompts leave, and these never want
more afterwards (or all of them together fit), so what is short is the share of the youngest.
"""

from __future__ import annotations

from scheduler_reader.record import Record
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.waiting import Rank


class Arrived(Record):
    """A request by its place in the records."""

    place: int
    prompt_tokens: int
    output_tokens: int
    rank: Rank


class Prompt(Record):
    """A request whose prompt is being computed: tokens that are, and blocks held."""

    request: Arrived
    computed: int
    blocks: int


class Prompts:
    """The prompts of an engine."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour) -> None:
        self._budget = config.max_num_batched_tokens
        self._threshold = config.long_prefill_token_threshold
        self._is_adaptive = config.long_prefill_token_threshold_adaptive
        self._spares_lone = behaviour.threshold_spares_lone_request
        self._is_chunked = config.enable_chunked_prefill
        self._open: dict[int, Prompt] = {}  # by place, in order of admission

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, place: int) -> bool:
        return place in self._open

    def limit(self, requests: int) -> int:
        """Most tokens of one prompt in a step that begins with so many requests in all."""
        if not self._threshold or (self._spares_lone and requests <= 1):
            return self._budget
        if self._spares_lone and self._is_adaptive:
            return max(self._threshold, self._budget // requests)
        return self._threshold

    def first_chunk(self, wanted: int, budget: int, limit: int | None = None) -> int:
        """Of so many tokens those that an admitted request gets; none where prompts are computed
        whole and this one is too long.  `limit` None: the least there can be.
        """
        tokens = min(wanted, limit or self._threshold or self._budget)
        if tokens <= budget:
            return tokens
        return max(budget, 0) if self._is_chunked else 0

    def shares(self, budget: int, limit: int) -> list[tuple[Prompt, int]]:
        """All prompts that have begun with their tokens of this step, oldest first; `budget` is what
        decodes leave.
        """
        shares = []
        for prompt in self._open.values():
            tokens = self.share(prompt, budget, limit)
            shares.append((prompt, tokens))
            budget -= tokens
        return shares

    @staticmethod
    def share(prompt: Prompt, budget: int, limit: int) -> int:
        """Tokens of a prompt in a step with so many left."""
        return min(prompt.request.prompt_tokens - prompt.computed, limit, budget)

    def begun(self, place: int) -> Prompt | None:
        """The prompt of a request, where it is not whole yet."""
        return self._open.get(place)

    def give_up(self, place: int) -> Prompt:
        """A prompt is computed no further."""
        return self._open.pop(place)

    def keep(self, prompt: Prompt) -> bool:
        """A prompt after its chunk: whether it is not whole yet, and goes on in the next step."""
        place = prompt.request.place
        is_open = prompt.computed < prompt.request.prompt_tokens
        if is_open:
            self._open[place] = prompt
        else:
            self._open.pop(place, None)
        return is_open
