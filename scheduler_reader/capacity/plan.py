"""The capacity plan: what fills the GPU's memory, and how many KV blocks are left."""

from __future__ import annotations

from typing import Any

from scheduler_reader.record import Record


class MemoryTerms(Record):
    """Bytes on one GPU rank.  `kv_cache` is what is left for blocks (may be negative)."""

    total: float  # device memory as CUDA reports it
    budget: float  # total x gpu_memory_utilization, or what kv_cache_memory_bytes implies
    weights: float
    activation: float  # peak of the profile run
    cuda_graphs: float  # subtracted from the budget only where that release does
    non_torch: float
    kv_cache: float
    sampler: float  # of `activation`: while one token of every sequence is sampled
    unclaimed: float  # neither budget, CUDA context nor others'; may be negative
    others: float  # what other processes use


class KvRange(Record):
    """One end of the uncertainty range."""

    kv_cache_bytes: float
    num_blocks: int
    kv_cache_tokens: int


class Remedy(Record):
    """The smallest change of one setting with which the engine starts, all else as it is.

    Where no single one is enough, `max_model_len` is changed as well.
    """

    setting: str
    value: Any
    largest_max_model_len: int
    max_model_len: int | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """All settings to change, with their values."""
        length = self.max_model_len
        return {self.setting: self.value} | ({"max_model_len": length} if length else {})


class CapacityPlan(Record):
    """All per GPU rank unless the name says otherwise.  `starts` None: cannot be said, see `reason`.

    `kv_cache_tokens` and `max_concurrency` are the numbers that release prints at start-up.
    """

    starts: bool | None
    reason: str
    memory: MemoryTerms | None = None
    kv_bytes_per_token: float | None = None  # one rank, all its layers
    block_size: int | None = None
    num_blocks: int | None = None
    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    largest_max_model_len: int | None = None
    safe_max_model_len: int | None = None  # sure to fit, a round number; 0: none
    workload_concurrency: float | None = None  # requests of the declared shape that fit at once
    low: KvRange | None = None
    high: KvRange | None = None
    failed_check: str = ""  # beside that of the KV cache: refusals.StartCheck
    remedies: tuple[Remedy, ...] = ()  # where it does not surely start: what would help
