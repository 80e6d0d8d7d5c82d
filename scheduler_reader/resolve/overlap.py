"""Asynchronous scheduling: whether the next step is scheduled while the GPU runs this one."""

from __future__ import annotations

from typing import Any

from scheduler_reader.resolve.case import Case, table
from scheduler_reader.resolve.model_shape import is_pooling
from scheduler_reader.resolve.speculation import speculation_method, speculative_config
from scheduler_reader.value import Known

NAME = "async_scheduling"


def resolve_async_scheduling(case: Case) -> Known[Any]:
    """`async_scheduling`.  vllm/config/vllm.py, VllmConfig.__post_init__."""
    written = case.written(NAME)
    if written is not None and written.value is not None:
        return written
    if not case.follows("async_by_default"):
        return case.by_default(False, "off unless asked for")
    if case.follows("async_off_for_pooling") and is_pooling(case):
        return case.by_behaviour(False, "async_off_for_pooling")
    reason = _unsupported_by(case)
    if reason is not None:
        return case.decided(False, f"off, not supported with {reason}")
    return case.by_behaviour(True, "async_by_default")


def _unsupported_by(case: Case) -> str | None:
    data = table("async_scheduling")
    executors = case.pick(data["executors"])
    executor = case.argument("distributed_executor_backend")
    if executor is not None and executors is not None and executor not in executors["value"]:
        return f"the {executor} executor"
    if (case.argument("pipeline_parallel_size") or 1) > 1:
        if case.follows("async_not_with_pipeline"):
            return "pipeline parallelism"
        if case.follows("async_pipeline_needs_v2_runner") and case.get("model_runner") == "V1":
            return "pipeline parallelism in model runner V1"
    method = speculation_method(case)
    if method is None:
        return None
    if case.follows("async_speculation_free_with_v2_runner") and case.get("model_runner") == "V2":
        return None
    methods = case.pick(data["speculation_methods"])
    if methods is not None and method not in methods["value"]:
        return f"speculation by {method}"
    if speculative_config(case).get("disable_padded_drafter_batch"):
        return "disable_padded_drafter_batch"
    return None
