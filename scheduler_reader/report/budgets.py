"""`budgets --format json`: token budgets side by side for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.report.plain import plain
from scheduler_reader.simulate.budgets import Budget, BudgetTable


def render(tables: Sequence[BudgetTable]) -> str:
    """The JSON document of every engine's budgets."""
    document = {"schema_version": "1", "engines": [plain(_table(table)) for table in tables]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _table(table: BudgetTable) -> dict[str, Any]:
    return {
        "model": table.engine.model_id,
        "vllm_version": table.engine.release.name,
        "gpu": table.engine.hardware.gpu.name,
        "gpu_count": table.engine.hardware.count,
        "workload": table.workload.as_file(),
        "block_size": table.block_size,
        "request_blocks": table.request_blocks,
        "least": table.least,
        "right": None if table.right is None else table.right.tokens,
        "budgets": [_budget(one) for one in table.budgets],
    }


def _budget(one: Budget) -> dict[str, Any]:
    memory, estimate = one.plan.memory, one.estimate
    return {
        "max_num_batched_tokens": one.tokens,
        "is_current": one.is_current,
        "starts": one.plan.starts,
        "activation_gib": None if memory is None else memory.activation / GIB,
        "num_blocks": one.plan.num_blocks,
        "workload_concurrency": one.plan.workload_concurrency,
        "full_step_ms": one.full_step_ms,
        "blocks_of_step": one.blocks_of_step,
        "ttft_ms": None if estimate is None else estimate.ttft_ms._asdict(),
        "itl_ms": None if estimate is None else estimate.itl_ms._asdict(),
        "output_tokens_per_s": None if estimate is None else estimate.output_tokens_per_s,
        "goodput_requests_per_s": None if estimate is None else estimate.goodput_requests_per_s,
    }
