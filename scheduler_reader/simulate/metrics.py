"""What users and operators see of a run: latencies, rates, goodput, waste.

Latencies are over requests that finished; ITL is over all their gaps together, TPOT the mean gap
of a request.  TTFT counts from arrival; `frontend_s` (HTTP, tokenizer) is added to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.simulate.percentiles import Distribution
from scheduler_reader.simulate.result import RequestRecord, SimulationResult
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
    done = [record for record in result.records if record.finished_s is not None]
    span_s = result.duration_s or 1.0
    outputs = sum(record.output_tokens for record in done)
    prompts = sum(record.prompt_tokens for record in done)
    good = sum(_is_good(record, slo, frontend_s) for record in done)
    return Metrics(
        finished=len(done),
        unfinished=len(result.unfinished),
        duration_s=result.duration_s,
        ttft_ms=Distribution.of(_ttft_s(record) + frontend_s for record in done).latency(),
        itl_ms=Distribution.of_runs(result.gaps()).latency(),
        tpot_ms=Distribution.of(_tpot_s(r) for r in done if r.output_tokens > 1).latency(),
        e2e_ms=Distribution.of(_e2e_s(record) + frontend_s for record in done).latency(),
        output_tokens_per_s=outputs / span_s,
        total_tokens_per_s=(prompts + outputs) / span_s,
        requests_per_s=len(done) / span_s,
        goodput_requests_per_s=good / span_s,
        kv_waste=_block_waste(done, result.block_size) if kv_waste is None else kv_waste,
        prefix_hit_rate=sum(record.cached_tokens for record in done) / max(prompts, 1),
        preemptions=result.preemptions,
        queue_growth_per_s=_queue_growth(result.records),
    )


def _ttft_s(record: RequestRecord) -> float:
    assert record.first_token_s is not None
    return record.first_token_s - record.arrival_s


def _e2e_s(record: RequestRecord) -> float:
    assert record.finished_s is not None
    return record.finished_s - record.arrival_s


def _tpot_s(record: RequestRecord) -> float:
    assert record.finished_s is not None and record.first_token_s is not None
    return (record.finished_s - record.first_token_s) / (record.output_tokens - 1)


def _is_good(record: RequestRecord, slo: Slo, frontend_s: float) -> bool:
    """Whether a request met every objective that is set; one without gaps meets those on gaps."""
    if slo.ttft_ms is not None and (_ttft_s(record) + frontend_s) * 1e3 > slo.ttft_ms:
        return False
    if record.output_tokens < 2:
        return True
    if slo.tpot_ms is not None and _tpot_s(record) * 1e3 > slo.tpot_ms:
        return False
    return slo.itl_ms is None or (
        Distribution.of_runs(record.gaps).percentile(0.99) * 1e3 <= slo.itl_ms
    )


def _block_waste(done: Sequence[RequestRecord], block_size: int) -> float:
    """Empty slots of the last blocks: the only waste that paging leaves (PagedAttention, §4)."""
    held = used = 0
    for record in done:
        tokens = record.prompt_tokens + record.output_tokens
        used += tokens
        held += -(-tokens // block_size) * block_size
    return 1 - used / held if held else 0.0


def _queue_growth(records: Sequence[RequestRecord]) -> float:
    """How fast the waiting queue grew in the second half of the time in which requests arrived."""
    end_s = max((record.arrival_s for record in records), default=0.0)
    if end_s <= 0:
        return 0.0
    return (_waiting(records, end_s) - _waiting(records, end_s / 2)) / (end_s / 2)


def _waiting(records: Sequence[RequestRecord], time_s: float) -> int:
    return sum(
        record.arrival_s <= time_s and (record.admitted_s is None or record.admitted_s > time_s)
        for record in records
    )
