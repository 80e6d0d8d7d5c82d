"""Assessments built by hand, as the stages before the report would hand them over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import known_models

from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan, KvRange, MemoryTerms
from scheduler_reader.diagnosis.verdict import Bottleneck, Lift, TuningStep
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.performance.estimate import Floor, Latency, PerformanceEstimate, StepShares
from scheduler_reader.resolve.engine import Hardware, ResolvedEngine, Setting
from scheduler_reader.rule_engine.finding import Finding, NotEvaluated
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

FILE = "serve.yaml"
H100 = replace(known_models.H100, memory_bytes=int(79.2 * GIB))
LLAMA_8B = replace(
    known_models.LLAMA_8B,
    id="meta-llama/Llama-3.1-8B-Instruct",
    parameters=8.03e9,
    weight_bytes=16_060_522_496,
)


def at(line: int, column: int = 1) -> Origin:
    return Origin("file", path=FILE, line=line, column=column)


def default(value: Any, detail: str = "default of vLLM 0.18.0") -> Setting:
    return Setting(Known(value, Origin("vllm default", detail)), False, value, "Something.")


def given(value: Any, line: int, default_value: Any, controls: str = "Something.") -> Setting:
    return Setting(Known(value, at(line)), True, default_value, controls)


def settings(**changes: Setting) -> dict[str, Setting]:
    return {
        "max_model_len": given(16384, 3, 131072),
        "max_num_seqs": default(1024, "default of vLLM 0.18.0: the server on an H100"),
        "max_num_batched_tokens": default(8192, "default of vLLM 0.18.0: the server on an H100"),
        "enable_chunked_prefill": default(True),
        "gpu_memory_utilization": default(0.9),
        **changes,
    }


def engine(
    setting_values: dict[str, Setting] | None = None,
    name: str | None = None,
    env: dict[str, Value[str]] | None = None,
    model_id: Value[str] | None = None,
) -> ResolvedEngine:
    return ResolvedEngine(
        parsed=ParsedEngine("config-yaml", at(1), name=name, env=env or {}),
        release=Release("0.18.0"),
        release_origin=Origin("option", "--vllm-version"),
        context="serve",
        engine="V1",
        hardware=Hardware(H100, 1, Origin("assumed", "assumed")),
        model_id=model_id or Known(LLAMA_8B.id, at(2)),
        model=Known(LLAMA_8B, Origin("catalogue", "model catalogue")),
        flags=FlagReading("0.18.0", None, {}, ()),
        settings=settings() if setting_values is None else setting_values,
        assumptions=("one H100 SXM, because no GPU is stated",),
    )


def capacity() -> CapacityPlan:
    memory = MemoryTerms(
        total=79.2 * GIB,
        budget=71.28 * GIB,
        weights=14.96 * GIB,
        activation=1.2 * GIB,
        cuda_graphs=0.5 * GIB,
        non_torch=0.6 * GIB,
        kv_cache=54.02 * GIB,
        sampler=0.0,
        unclaimed=0.0,
        others=0.0,
    )
    return CapacityPlan(
        starts=True,
        reason="starts",
        memory=memory,
        kv_bytes_per_token=131072.0,
        block_size=16,
        num_blocks=27658,
        kv_cache_tokens=442528,
        max_concurrency=27.01,
        largest_max_model_len=131072,
        workload_concurrency=384.3,
        low=KvRange(53.1 * GIB, 27187, 434992),
        high=KvRange(54.6 * GIB, 27955, 447280),
    )


def estimate(factor: float = 1.0, **changes: Any) -> PerformanceEstimate:
    values: dict[str, Any] = {
        "ttft_ms": Latency(212.0 * factor, 97.0 * factor, 1240.0 * factor),
        "itl_ms": Latency(11.2 * factor, 10.1 * factor, 38.0 * factor),
        "tpot_ms": 11.3 * factor,
        "output_tokens_per_s": 5120.0 / factor,
        "total_tokens_per_s": 25600.0 / factor,
        "requests_per_s": 22.2 / factor,
        "goodput_requests_per_s": 22.2 / factor,
        "saturated": False,
        "capacity_requests_per_s": None,
        "queue_growth_per_s": None,
        "running": 62.1,
        "waiting": 0.4,
        "preemptions_per_request": 0.0,
        "floor": Floor(5.6 * factor, "memory"),
        "shares": StepShares(0.71, 0.2, 0.0, 0.09),
        "not_modeled": ("tokenizer time",),
    }
    return PerformanceEstimate(**{**values, **changes})


def performance(**changes: Any) -> Value[PerformanceEstimate]:
    best = estimate(low=estimate(1.05), high=estimate(0.95), **changes)
    return Known(best, Origin("derived", "performance model"))


def bottleneck(**changes: Any) -> Value[Bottleneck]:
    values: dict[str, Any] = {
        "default": "none",
        "kind": "decode_floor",
        "confidence": "high",
        "evidence": ("71% of a step is reading weights and KV blocks",),
        "lifted": (
            Lift("KV blocks", "output_tokens_per_s", 5120.0, 5120.0, 0.0),
            Lift("max_num_seqs", "output_tokens_per_s", 5120.0, 5120.0, 0.0),
            Lift("token budget", "output_tokens_per_s", 5120.0, 5171.2, 0.01),
        ),
    }
    return Known(Bottleneck(**{**values, **changes}), Origin("derived"))


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "code": "MEM104",
        "name": "oversized-context",
        "severity": "note",
        "confidence": "high",
        "effect": "advice",
        "message": "max_model_len is 16,384 and the longest request of the workload is 1,280 tokens.",
        "why": "A smaller limit makes the start-up check independent of the worst case.",
        "source": "vllm/config/model.py",
        "origin": at(3),
        "fix": {"max_model_len": 2048},
    }
    return Finding(**{**values, **changes})


def tuning_step() -> TuningStep:
    return TuningStep(
        order=1,
        set={"max_num_batched_tokens": 2048},
        because="Chunks of 8,192 tokens delay running decodes.",
        before={"itl_p99_ms": 92.0, "output_tokens_per_s": 4100.0},
        after={"itl_p99_ms": 31.0, "output_tokens_per_s": 4050.0},
        watch="vllm:inter_token_latency_seconds p99",
    )


def healthy(**changes: Any) -> Assessment:
    """An 8B chat server that nothing is wrong with."""
    values: dict[str, Any] = {
        "engine": engine(),
        "workload": DEFAULT_WORKLOAD,
        "slo": Slo(),
        "capacity": capacity(),
        "performance": performance(),
        "bottleneck": bottleneck(),
        "findings": (finding(),),
        "not_evaluated": (NotEvaluated("OBS101", "observed metrics (--metrics)"),),
        "tuning": (),
        "assumptions": ("the default workload, because none is stated",),
        "read_next": "sched-reader explain decode_floor",
        "measure_next": "vllm:kv_cache_usage_perc at peak",
    }
    return Assessment(**{**values, **changes})


def does_not_start() -> Assessment:
    """A 70B FP8 model on one H100 whose weights and start-up peak exceed the budget."""
    memory = MemoryTerms(
        total=79.2 * GIB,
        budget=71.28 * GIB,
        weights=67.7 * GIB,
        activation=2.9 * GIB,
        cuda_graphs=1.1 * GIB,
        non_torch=0.9 * GIB,
        kv_cache=-1.32 * GIB,
        sampler=0.0,
        unclaimed=0.0,
        others=0.0,
    )
    reason = "weights of 67.7 GiB and a start-up peak of 4.9 GiB exceed the budget of 71.3 GiB"
    return healthy(
        engine=engine(
            settings(tensor_parallel_size=given(1, 5, 1)),
            name="llama-70b",
            model_id=Known("nvidia/Llama-3.3-70B-Instruct-FP8", at(2)),
        ),
        capacity=CapacityPlan(False, reason, memory, 327680.0, 16, 0, 0),
        performance=Unknown("the engine does not start"),
        bottleneck=bottleneck(
            default="paged_attention",
            kind="hbm_capacity",
            evidence=("weights take 95% of the budget",),
            lifted=(),
        ),
        findings=(
            finding(),
            finding(
                code="MEM101",
                name="no-room-for-kv-cache",
                severity="error",
                effect="refused",
                message="1.3 GiB are missing before the first KV block.",
                why="vLLM exits when nothing is left of the budget for KV blocks.",
                fix={"tensor_parallel_size": 2},
                fix_text="or a card with more memory",
                origin=None,
            ),
        ),
        tuning=(tuning_step(),),
    )
