"""What users and operators see of a run: latencies, rates, goodput, waste.

Latencies are over requests that finished; ITL is over all their gaps together, TPOT the mean gap
of a request.  TTFT counts from arrival; `frontend_s` (HTTP, tokenizer) is added to it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, inf

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.simulate.percentiles import Distribution
from scheduler_reader.simulate.result import Gaps, OwnGaps, RequestRecord, SimulationResult
from scheduler_reader.workload import Slo

ADDITIVE = (
    "finished",
    "unfinished",
    "output_tokens_per_s",
    "total_tokens_per_s",
    "requests_per_s",
    "goodput_requests_per_s",
    "preemptions",
    "queue_growth_per_s",
)


@dataclass(frozen=True, slots=True)
class Metrics:
    """A run in numbers.  A latency is None when no request has one."""

    finished: int
    unfinished: int
    duration_s: float
    ttft_ms: Latency | None
    itl_ms: Latency | None
    tpot_ms: Latency | None
    e2e_ms: Latency | None
    output_tokens_per_s: float
    total_tokens_per_s: float
    requests_per_s: float
    goodput_requests_per_s: float
    kv_waste: float  # share of the KV slots that requests held when they ended that stayed empty
    prefix_hit_rate: float  # share of prompt tokens found in the cache at first admission
    preemptions: int
    queue_growth_per_s: float  # requests by which the queue grew each second, second half

    def times(self, replicas: int) -> Metrics:
        """The same for so many equal replicas: rates and counts add up, latencies stay."""
        if replicas == 1:
            return self
        return replace(self, **{name: getattr(self, name) * replicas for name in ADDITIVE})


def measure(
    result: SimulationResult, slo: Slo, *, frontend_s: float = 0.0, kv_waste: float | None = None
) -> Metrics:
    """The metrics of a run.  `kv_waste` None: memory is held in blocks of the run's size."""
    done = _Finished(result, slo, frontend_s)
    span_s = result.duration_s or 1.0
    return Metrics(
        finished=len(done.e2e_s),
        unfinished=len(result.unfinished),
        duration_s=result.duration_s,
        ttft_ms=Distribution.of(done.ttft_s).latency(),
        itl_ms=_itl_ms(result),
        tpot_ms=Distribution.of(done.tpot_s).latency(),
        e2e_ms=Distribution.of(done.e2e_s).latency(),
        output_tokens_per_s=done.output_tokens / span_s,
        total_tokens_per_s=(done.prompt_tokens + done.output_tokens) / span_s,
        requests_per_s=len(done.e2e_s) / span_s,
        goodput_requests_per_s=done.good / span_s,
        kv_waste=done.block_waste if kv_waste is None else kv_waste,
        prefix_hit_rate=done.cached_tokens / max(done.prompt_tokens, 1),
        preemptions=result.preemptions,
        queue_growth_per_s=_queue_growth(result.records),
    )


class _Finished:
    """The requests that finished, in columns: a record of each would fill memory in long runs."""

    def __init__(self, result: SimulationResult, slo: Slo, frontend_s: float) -> None:
        self.ttft_s, self.tpot_s, self.e2e_s = array("d"), array("d"), array("d")
        self.prompt_tokens = self.output_tokens = self.cached_tokens = self.good = 0
        self._held_slots = 0
        for record in result.records:
            if record.finished_s is not None:
                self._add(record, result.block_size, slo, frontend_s)

    @property
    def block_waste(self) -> float:
        """Empty slots of the last blocks: the only waste that paging leaves (PagedAttention, §4)."""
        used = self.prompt_tokens + self.output_tokens
        return 1 - used / self._held_slots if self._held_slots else 0.0

    def _add(self, record: RequestRecord, block_size: int, slo: Slo, frontend_s: float) -> None:
        assert record.finished_s is not None and record.first_token_s is not None
        ttft_s = record.first_token_s - record.arrival_s + frontend_s
        tpot_s = None
        if record.output_tokens > 1:
            tpot_s = (record.finished_s - record.first_token_s) / (record.output_tokens - 1)
            self.tpot_s.append(tpot_s)
        self.ttft_s.append(ttft_s)
        self.e2e_s.append(record.finished_s - record.arrival_s + frontend_s)
        self.prompt_tokens += record.prompt_tokens
        self.output_tokens += record.output_tokens
        self.cached_tokens += record.cached_tokens
        tokens = record.prompt_tokens + record.output_tokens
        self._held_slots += -(-tokens // block_size) * block_size
        self.good += _is_good(record, slo, ttft_s, tpot_s)


def _is_good(record: RequestRecord, slo: Slo, ttft_s: float, tpot_s: float | None) -> bool:
    """Whether a request met every objective that is set; one without gaps meets those on gaps."""
    if slo.ttft_ms is not None and ttft_s * 1e3 > slo.ttft_ms:
        return False
    if tpot_s is None:
        return True
    if slo.tpot_ms is not None and tpot_s * 1e3 > slo.tpot_ms:
        return False
    return slo.itl_ms is None or _is_steady(record.gaps, slo.itl_ms / 1e3)


def _is_steady(gaps: Sequence[Gaps], limit_s: float) -> bool:
    """Whether the 99th percentile of a request's gaps is within a limit.

    Counting tells it, unless the percentile lies between the longest gap within and the next one.
    """
    if not isinstance(gaps, OwnGaps):
        return Distribution.of_runs(gaps).percentile(0.99) <= limit_s
    size, within = gaps.within(limit_s)
    rank = 0.99 * (size - 1)
    if floor(rank) < within < size and within <= rank + 1:
        below_s, above_s = gaps.around(limit_s)
        return below_s + (rank - floor(rank)) * (above_s - below_s) <= limit_s
    return within > rank


def _itl_ms(result: SimulationResult) -> Latency | None:
    if result.token_gaps is not None:
        return result.token_gaps.latency()
    finished = (record for record in result.records if record.finished_s is not None)
    return Distribution.of_runs(gap for record in finished for gap in record.gaps).latency()


def _queue_growth(records: Sequence[RequestRecord]) -> float:
    """How fast the waiting queue grew in the second half of the time in which requests arrived."""
    arrivals, admissions = array("d"), array("d")
    for record in records:
        arrivals.append(record.arrival_s)
        admissions.append(inf if record.admitted_s is None else record.admitted_s)
    end_s = max(arrivals, default=0.0)
    if end_s <= 0:
        return 0.0
    growth = _waiting(arrivals, admissions, end_s) - _waiting(arrivals, admissions, end_s / 2)
    return growth / (end_s / 2)


def _waiting(arrivals: array[float], admissions: array[float], time_s: float) -> int:
    times = zip(arrivals, admissions, strict=True)
    return sum(arrival_s <= time_s < admitted_s for arrival_s, admitted_s in times)
