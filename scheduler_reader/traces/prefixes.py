"""From Mooncake's block ids to prefix groups.

An id stands for 512 prompt tokens and all before them, so the ids of all requests form a tree.
A prefix group is one path of it: a request joins the path of its deepest id that is known, or,
when the greater part of it is new, begins a path of its own.  A request on a new path does not
find the short part that it shares with the old one: hits are slightly underestimated.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.traces.layouts import HASH_BLOCK_TOKENS


class HashChains:
    """Paths so far.  Memory grows with distinct ids: they are the content of an infinite cache."""

    def __init__(self) -> None:
        self._path: dict[int, int] = {}  # id -> path
        self._length: list[int] = []  # of each path, in blocks

    def place(self, ids: Sequence[int], prompt_tokens: int) -> tuple[int, int]:
        """(prefix group, tokens of the prompt that are the group's)."""
        if not isinstance(ids, list | tuple) or not all(isinstance(each, int) for each in ids):
            raise ValueError("hash_ids is no list of whole numbers")
        if len(ids) > -(-prompt_tokens // HASH_BLOCK_TOKENS):
            raise ValueError(
                f"{len(ids)} hash_ids are more than {prompt_tokens} prompt tokens can have"
            )
        known = self._known(ids)
        begins = 2 * known < len(ids)
        path = len(self._length) if begins else self._path[ids[known - 1]]
        if begins:
            self._length.append(0)
        shared = known
        if begins or self._length[path] == known:
            self._length[path] = shared = len(ids)
            self._path.update((each, path) for each in ids[0 if begins else known :])
        return path, min(shared * HASH_BLOCK_TOKENS, prompt_tokens)

    def _known(self, ids: Sequence[int]) -> int:
        """Leading ids that were seen before."""
        for position, each in enumerate(ids):
            if each not in self._path:
                return position
        return len(ids)
