"""What was observed outranks what was predicted: the verdict where an engine's own metrics tell.

Where `signs` finds none and nobody waits, neither blocks nor seats can bind, whatever was predicted.
"""

from __future__ import annotations

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.bottleneck import KIND_OF_SHARE
from scheduler_reader.diagnosis.seen import Seen
from scheduler_reader.diagnosis.sign import FULL, Sign
from scheduler_reader.diagnosis.signs import first_sign
from scheduler_reader.diagnosis.verdict import OBSERVED, Bottleneck
from scheduler_reader.observe.observation import Observation
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import Slo


def outranked(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    predicted: Value[Bottleneck],
    estimate: Value[PerformanceEstimate],
    observation: Observation,
    *,
    slo: Slo,
) -> Value[Bottleneck]:
    """The verdict with the observation taken into account; the prediction where it does not tell.

    Without the four metrics a verdict needs it says what of it rests on prediction.
    """
    known = estimate.value if isinstance(estimate, Known) else None
    seen = Seen(engine, plan, known, observation, slo, build_step_model(engine))
    sign = first_sign(seen)
    if sign is not None:
        return Known(_verdict(sign, predicted, observation), OBSERVED)
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
    confidence = sign.confidence or ("medium" if observation.missing else "high")
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
    return predicted._replace(evidence=evidence)


def _as_predicted(said: Bottleneck) -> tuple[str, ...]:
    """Its sentences, told from what was observed."""
    return tuple(f"predicted: {sentence}" for sentence in said.evidence)


def _rests(observation: Observation) -> tuple[str, ...]:
    if not observation.missing:
        return ()
    return (f"no {', '.join(observation.missing)} observed: the verdict rests on prediction there",)
