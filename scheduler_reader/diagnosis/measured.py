"""What was observed outranks what was predicted: the verdict where an engine's own metrics tell.

The queues decide.  Requests that wait beside used-up blocks are starved of KV cache; that wait
beside free blocks and full seats are stalled at admission; that wait beside neither are held by the
token budget or by arithmetic.  Where nobody waits, neither blocks nor seats can bind, whatever was
predicted; where hardly anybody runs either, the load does not reach the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.bottleneck import KIND_OF_SHARE, Confidence
from scheduler_reader.diagnosis.verdict import Bottleneck, Default, Kind
from scheduler_reader.observe.observation import Observation, concurrency_of
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value

ORIGIN = Origin("derived", "observed metrics")
# Where a sign begins: set by judgement, as no source measures them; tests/diagnosis has each of them.
FULL = 0.9  # of the KV blocks; the rest is what a request about to be admitted asks for
PREEMPTED = 0.05  # preemptions a request
SEATED = 0.95  # of max_num_seqs
OVERLOADED = 1.1  # requests sent over requests served
IDLE = 1.0  # requests running and waiting
UNFED = 0.5  # of the requests that the client keeps open
SPIKED = 5.0  # ITL p99 over its median
NOTICEABLE_MS = 200.0  # a gap between tokens that a reader notices


class Seen(NamedTuple):
    """The engine, and what was predicted and observed of it."""

    engine: ResolvedEngine
    plan: CapacityPlan
    estimate: PerformanceEstimate | None
    observation: Observation

    def get(self, name: str) -> float | None:
        return self.observation.get(name)

    def setting(self, name: str) -> Any:
        """The resolved value, or None where the release has no such setting or it is not known."""
        found = self.engine.settings.get(name)
        return found.value.value if found and isinstance(found.value, Known) else None

    @property
    def seats(self) -> float | None:
        """Requests that may run at once, of all data-parallel engines."""
        value = self.setting("max_num_seqs")
        if not isinstance(value, int):
            return None
        return value * (self.get("engines") or 1)


class Sign(NamedTuple):
    """A limit that the metrics show to bind, in a sentence with their figures."""

    default: Default
    kind: Kind
    sentence: str


def outranked(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    predicted: Value[Bottleneck],
    estimate: Value[PerformanceEstimate],
    observation: Observation,
) -> Value[Bottleneck]:
    """The verdict with the observation taken into account; the prediction where it does not tell.

    Without the four metrics a verdict needs it says what of it rests on prediction.
    """
    known = estimate.value if isinstance(estimate, Known) else None
    seen = Seen(engine, plan, known, observation)
    sign = next((sign for look in LOOKS if (sign := look(seen)) is not None), None)
    if sign is not None:
        return Known(_verdict(sign, predicted, observation), ORIGIN)
    if isinstance(predicted, Unknown):
        return predicted
    return Known(_supported(seen, predicted.value), predicted.origin)


def _verdict(sign: Sign, predicted: Value[Bottleneck], observation: Observation) -> Bottleneck:
    evidence: tuple[str, ...] = (sign.sentence,)
    if isinstance(predicted, Known):
        said = predicted.value
        contradicted = (f"predicted was {said.kind}; what was observed decides",)
        evidence += _as_predicted(said) if said.kind == sign.kind else contradicted
    lifted = predicted.value.lifted if isinstance(predicted, Known) else ()
    confidence: Confidence = "medium" if observation.missing else "high"
    evidence += _rests(observation)
    return Bottleneck(sign.default, sign.kind, confidence, evidence, lifted)


def _supported(seen: Seen, predicted: Bottleneck) -> Bottleneck:
    """The prediction, corrected where nobody waits though a queue was predicted."""
    waiting, usage = seen.get("waiting"), seen.get("kv_cache_usage")
    queues = predicted.default in {"paged_attention", "continuous_batching"}
    if queues and predicted.kind != "hbm_capacity" and waiting is not None and waiting < 1:
        if seen.estimate is None or (usage is not None and usage >= FULL):
            return _resting(seen, predicted)
        shares = seen.estimate.shares
        kind = KIND_OF_SHARE[max(KIND_OF_SHARE, key=lambda name: float(getattr(shares, name)))]
        sentence = (
            f"nobody waits, so neither KV blocks nor max_num_seqs bind as was predicted "
            f"({predicted.kind})"
        )
        evidence = (sentence, *_rests(seen.observation))
        return Bottleneck("none", kind, "medium", evidence, predicted.lifted)
    return _resting(seen, predicted)


def _resting(seen: Seen, predicted: Bottleneck) -> Bottleneck:
    evidence = (*_as_predicted(predicted), *_rests(seen.observation))
    return replace(predicted, evidence=evidence)


def _as_predicted(said: Bottleneck) -> tuple[str, ...]:
    """Its sentences, told from what was observed."""
    return tuple(f"predicted: {sentence}" for sentence in said.evidence)


def _rests(observation: Observation) -> tuple[str, ...]:
    if not observation.missing:
        return ()
    return (f"no {', '.join(observation.missing)} observed: the verdict rests on prediction there",)


# Each look at the metrics gives a sign, or None where they do not tell; the first sign counts.


def _overload(seen: Seen) -> Sign | None:
    offered, served = seen.get("offered_requests_per_s"), seen.get("requests_per_s")
    if not seen.observation.is_open_loop or not offered or not served:
        return None
    ttft_ms, itl_ms = seen.get("ttft_mean_ms"), seen.get("tpot_ms") or seen.get("itl_mean_ms")
    if offered < OVERLOADED * served or ttft_ms is None or (itl_ms and ttft_ms < 20 * itl_ms):
        return None
    return Sign(
        "none",
        "saturated",
        f"{offered:,.4g} requests/s were sent and {served:,.4g} served, with a mean TTFT of "
        f"{ttft_ms / 1e3:,.1f} s: the queue grew for as long as the load lasted",
    )


def _starvation(seen: Seen) -> Sign | None:
    usage, waiting = seen.get("kv_cache_usage"), seen.get("waiting") or 0.0
    preempted = seen.get("preemptions_per_request")
    if usage is not None and usage >= FULL and waiting >= 1:
        return Sign(
            "paged_attention",
            "kv_starvation",
            f"{usage:.0%} of the KV blocks are used and {waiting:,.0f} requests wait",
        )
    if preempted is not None and preempted > PREEMPTED:
        return Sign(
            "paged_attention",
            "kv_starvation",
            f"{preempted:,.2f} preemptions a request: blocks run out while requests grow",
        )
    return None


def _stall(seen: Seen) -> Sign | None:
    usage, waiting = seen.get("kv_cache_usage"), seen.get("waiting")
    running, seats = seen.get("running"), seen.seats
    if waiting is None or running is None or usage is None or seats is None:
        return None
    if waiting < 1 or usage >= FULL or running < SEATED * seats:
        return None
    return Sign(
        "continuous_batching",
        "admission_stall",
        f"{running:,.0f} requests run of {seats:,.0f} that max_num_seqs allows, {waiting:,.0f} wait, "
        f"and {usage:.0%} of the KV blocks are used",
    )


def _spikes(seen: Seen) -> Sign | None:
    """Gaps as long as a step that the token budget fills, far above the median."""
    p50, p99 = seen.get("itl_p50_ms") or seen.get("tpot_ms"), seen.get("itl_p99_ms")
    budget = seen.setting("max_num_batched_tokens")
    if p99 is None or not isinstance(budget, int):
        return None
    if p99 < max(SPIKED * (p50 or 0.0), NOTICEABLE_MS):
        return None
    model = build_step_model(seen.engine)
    if isinstance(model, Unknown):
        return None
    prompt, concurrency = seen.get("input_tokens_mean"), concurrency_of(seen.observation)
    is_chunked = seen.setting("enable_chunked_prefill") is not False
    tokens = float(budget) if is_chunked or prompt is None else prompt
    if (
        prompt is not None and concurrency is not None
    ):  # no step has more prompt tokens than are there
        tokens = min(tokens, prompt * concurrency)
    step_ms = 1e3 * model.value.step_seconds(0, 0, [(tokens, 0)])
    if not 0.3 * p99 <= step_ms:
        return None
    beside = "" if p50 is None else f" beside a median of {p50:,.0f} ms"
    kind: Kind = "chunk_too_large" if is_chunked else "prefill_unchunked"
    return Sign(
        "chunked_prefill",
        kind,
        f"ITL p99 is {p99:,.0f} ms{beside}: a step of {tokens:,.0f} prompt tokens takes about "
        f"{step_ms:,.0f} ms, and every stream waits for it",
    )


def _unfed(seen: Seen) -> Sign | None:
    """Nothing waits and hardly anything runs: the time goes by outside the engine."""
    running, waiting = seen.get("running"), seen.get("waiting")
    if running is None or waiting is None or waiting >= 1:
        return None
    usage = seen.get("kv_cache_usage")
    offered = seen.get("offered_concurrency")
    tokens = seen.get("output_tokens_per_s")
    if usage is not None and usage >= FULL:
        return None
    served = f", {tokens:,.4g} output tokens/s" if tokens is not None else ""
    if offered is not None and offered >= 2 and running < UNFED * offered:
        sentence = f"the client keeps {offered:,.0f} requests open, {running:,.0f} run, none wait"
    elif running + waiting < IDLE and tokens:
        sentence = f"{running:,.2g} requests run and {waiting:,.2g} wait"
    else:
        return None
    return Sign(
        "none",
        "not_scheduler",
        f"{sentence}{served}: the load does not reach the engine (client, proxy, tokenizer or "
        "preprocessing)",
    )


def _held(seen: Seen) -> Sign | None:
    """Requests wait though seats and blocks are free: the token budget, or arithmetic, holds them."""
    usage, waiting = seen.get("kv_cache_usage"), seen.get("waiting")
    running, seats = seen.get("running"), seen.seats
    tokens, budget = seen.get("step_tokens_mean"), seen.setting("max_num_batched_tokens")
    if waiting is None or running is None or usage is None or seats is None or tokens is None:
        return None
    if waiting < 1 or usage >= FULL or running >= SEATED * seats or not isinstance(budget, int):
        return None
    if tokens < 0.7 * budget:
        return None
    return Sign(
        "none",
        "compute_bound",
        f"{waiting:,.0f} requests wait while seats and KV blocks are free, and a step computes "
        f"{tokens:,.0f} tokens of at most {budget:,}: prefill takes all of the time",
    )


LOOKS: tuple[Callable[[Seen], Sign | None], ...] = (
    _starvation,
    _stall,
    _overload,
    _spikes,
    _held,
    _unfed,
)
