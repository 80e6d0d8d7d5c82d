"""Say in sentences, with this deployment's numbers, why a verdict is what it is."""

from __future__ import annotations

from math import ceil

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.lifts import Lifted, Situation
from scheduler_reader.diagnosis.objective import GOODPUT, NOTHING, WORTH_NAMING, Gain
from scheduler_reader.diagnosis.verdict import Kind, Lift
from scheduler_reader.resolve.engine import ResolvedEngine

GIB = 1024**3
METRIC_WORDS = {
    "output_tokens_per_s": "output tokens/s",
    "goodput_requests_per_s": "requests/s within the SLO",
    "steady_ttft_p99_ms": "ms TTFT p99 after the start-up burst",
    "itl_p99_ms": "ms ITL p99",
    "capacity_requests_per_s": "requests/s at most",
}


def does_not_start(engine: ResolvedEngine, plan: CapacityPlan) -> tuple[str, ...]:
    """What fills the memory of an engine that cannot start."""
    reason = plan.reason.removeprefix("does not start: ")
    sentences = [f"vLLM {engine.release.name} does not start: {reason}"]
    memory = plan.memory
    if memory is not None:
        sentences.append(
            f"of {memory.budget / GIB:.1f} GiB a GPU may use, weights take "
            f"{memory.weights / GIB:.1f} GiB and the profile run {memory.activation / GIB:.1f} GiB: "
            + _left_for_blocks(memory.kv_cache / GIB)
        )
    if plan.largest_max_model_len and not plan.failed_check:
        sentences.append(f"the largest max_model_len that fits is {plan.largest_max_model_len:,}")
    return tuple(sentences)


def _left_for_blocks(gib: float) -> str:
    if gib <= 0:
        return f"with what else is loaded that is {-gib:.1f} GiB too much"
    return f"{gib:.1f} GiB are left for KV blocks"


def binding(
    situation: Situation, limit: Lifted, gain: Gain, lifts: tuple[Lift, ...]
) -> tuple[str, ...]:
    """What binds, at which load, what it costs, and why the other limits do not."""
    why = {
        "kv_starvation": _kv_sentence,
        "admission_stall": _seats_sentence,
        "chunk_too_large": _budget_sentence,
        "chunk_too_small": _small_budget_sentence,
        "prefill_unchunked": _unchunked_sentence,
    }[limit.kind](situation)
    cost = f"without that limit ({limit.limit}) this load gets {_change(gain)}"
    rest = tuple(_other(situation, lift) for lift in lifts if lift.limit != limit.limit)
    growth = saturated(situation) if situation.base.saturated else ()
    return (why, cost, *rest, *growth, *_unmet(situation, gain.metric))


def saturated(situation: Situation) -> tuple[str, ...]:
    """An offered rate that no setting of the scheduler serves."""
    base, rate = situation.base, situation.workload.rate or 0.0
    capacity = base.capacity_requests_per_s or 0.0
    return (
        f"{figure(rate)} requests/s are offered, the engine sustains {figure(capacity)}: the queue grows "
        f"by {figure(rate - capacity)} requests a second for as long as the load lasts, so no latency "
        "tail is given",
    )


def hardware(situation: Situation, kind: Kind, share: float, metric: str) -> tuple[str, ...]:
    """No limit of the scheduler costs anything: what the step's time is spent on."""
    base = situation.base
    spent = {
        "decode_floor": "reading weights and KV cache",
        "compute_bound": "arithmetic, mostly prefill",
        "communication_bound": "all-reduces between the tensor-parallel ranks",
        "host_bound": "work of the CPU a step and a sequence",
    }[kind]
    sentences = [
        f"{share:.0%} of the engine's time goes into {spent}",
        f"no limit of the scheduler, lifted alone, gains more than {WORTH_NAMING:.0%}",
    ]
    if kind == "decode_floor":
        sentences.insert(
            1,
            f"one stream cannot get a token faster than {base.floor.itl_ms:.1f} ms on this GPU; "
            f"this load gets one every {base.tpot_ms:.1f} ms",
        )
    return (*sentences, *_unmet(situation, metric))


def _unmet(situation: Situation, metric: str) -> tuple[str, ...]:
    """Said where an SLO is stated and something else had to be the measure."""
    if not situation.slo.is_set or metric == GOODPUT:
        return ()
    return (
        f"fewer than {NOTHING:.0%} of the requests meet the SLO, whichever limit is lifted: "
        "throughput is judged instead",
    )


def _kv_sentence(situation: Situation) -> str:
    """Window and state layers hold less than a whole context: there no tokens are counted."""
    plan, base = situation.plan, situation.base
    held = situation.workload.input_tokens.mean + situation.workload.output_tokens.mean / 2
    tokens = (plan.num_blocks or 0) * (plan.block_size or 0)
    blocks = f"{plan.num_blocks:,} KV blocks" if plan.num_blocks else "the KV blocks"
    if 0 < tokens < 1.5 * held * base.running:
        blocks += f" ({tokens:,} tokens)"
    return (
        f"{blocks} hold about {base.running:,.0f} requests of {held:,.0f} tokens at a time, so "
        f"{base.waiting:,.0f} wait for blocks"
    )


def _seats_sentence(situation: Situation) -> str:
    return (
        f"max_num_seqs {situation.max_num_seqs:,} fills first: {situation.base.running:,.0f} "
        f"requests run and {situation.base.waiting:,.0f} wait while KV blocks are free"
    )


def _budget_sentence(situation: Situation) -> str:
    itl = situation.base.itl_ms
    tail = f"; ITL p99 is {itl.p99:,.0f} ms beside a median of {itl.p50:,.0f} ms" if itl.p99 else ""
    prompt = min(situation.token_budget, situation.workload.input_tokens.mean)
    return (
        f"a step that carries {prompt:,.0f} prompt tokens (max_num_batched_tokens "
        f"{situation.token_budget:,}) holds up every stream{tail}"
    )


def _small_budget_sentence(situation: Situation) -> str:
    prompt, budget = situation.workload.input_tokens.mean, situation.token_budget
    if prompt > budget:
        return (
            f"a prompt of {prompt:,.0f} tokens takes {ceil(prompt / budget):,} steps of at most "
            f"{budget:,} tokens, and every step reads all weights"
        )
    return (
        f"only {int(budget / prompt):,} prompts of {prompt:,.0f} tokens fit into a step of "
        f"{budget:,}: those that arrive together wait for each other"
    )


def _unchunked_sentence(situation: Situation) -> str:
    prompt, itl = situation.workload.input_tokens.mean, situation.base.itl_ms
    tail = f" (ITL p99 {itl.p99:,.0f} ms)" if itl.p99 else ""
    return f"a prompt of {prompt:,.0f} tokens is computed in one step that every stream waits for{tail}"


def _other(situation: Situation, lift: Lift) -> str:
    if lift.gain >= WORTH_NAMING:
        return f"{lift.limit} alone would gain less: {lift.gain:.0%}"
    reasons = {
        "KV blocks": f"KV blocks are no limit: lifted alone they gain {lift.gain:.0%}",
        "max_num_seqs": f"max_num_seqs {situation.max_num_seqs:,} is no limit: "
        f"lifted alone it gains {lift.gain:.0%}",
    }
    budget = situation.token_budget
    return reasons.get(
        lift.limit,
        f"the token budget of {budget:,} is no limit: the best other one gains {lift.gain:.0%}",
    )


def _change(gain: Gain) -> str:
    words = METRIC_WORDS[gain.metric]
    ratio = gain.after / gain.before if gain.before else 1 + gain.gain
    much = f"{ratio - 1:+.0%}" if ratio < 3 else f"{ratio:.0f} times as much"
    return f"{figure(gain.after)} instead of {figure(gain.before)} {words} ({much})"


def figure(value: float) -> str:
    """A measured or predicted figure with three digits, and no more of them than are whole."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:,.3g}"
