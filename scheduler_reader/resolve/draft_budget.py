"""What speculative decoding takes from the scheduler: budget for drafts, and running requests.

vllm/config/vllm.py, VllmConfig._set_max_num_scheduled_tokens.
"""

from __future__ import annotations

from typing import Any

from scheduler_reader.resolve.case import Case
from scheduler_reader.resolve.speculation import speculation_method, speculative_config
from scheduler_reader.value import Known


def resolve_scheduled_tokens(case: Case) -> Known[Any]:
    """`max_num_scheduled_tokens`: the budget less the slots of drafts; None without speculation."""
    written = case.written("max_num_scheduled_tokens")
    if written is not None and written.value is not None:
        return written
    method = speculation_method(case)
    if method is None:
        return case.by_default(None, "no speculative decoding, the whole budget")
    budget = case.get("max_num_batched_tokens")
    if not case.follows("drafts_reserve_budget"):
        return case.by_default(budget, "the whole budget")
    slots = case.get("num_speculative_tokens") - 1 if _drafts_in_parallel(case) else 0
    slots += 1 if method == "draft_model" else 0
    if slots == 0:
        return case.by_default(budget, f"the whole budget with {method}")
    tokens = budget - slots * case.get("max_num_seqs")
    return case.by_behaviour(tokens, "drafts_reserve_budget")


def resolve_active_seqs(case: Case) -> Known[Any]:
    """`max_num_active_seqs`: as written, else None; lowered where block drafts need more budget."""
    written = case.written("max_num_active_seqs")
    method = speculation_method(case)
    if method in ("dflash", "dspark") and case.follows("block_drafts_limit_active_seqs"):
        stated = written.value if written is not None else None
        active = stated or case.get("max_num_seqs")
        tokens = case.get("num_speculative_tokens") + (1 if method == "dflash" else 0)
        most = case.get("max_num_batched_tokens") // max(tokens, 1)
        if most < active:
            return case.by_behaviour(most, "block_drafts_limit_active_seqs")
    return written or case.by_default(None, "max_num_seqs")


def _drafts_in_parallel(case: Case) -> bool:
    return bool(speculative_config(case).get("parallel_drafting"))
