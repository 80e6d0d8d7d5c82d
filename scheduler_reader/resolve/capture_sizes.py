"""The batch sizes whose CUDA graphs are captured.

vllm/config.py and vllm/config/vllm.py, VllmConfig._set_cudagraph_sizes; the ladder is 1, 2, 4,
then every 8 and, in newer releases, every 16 from 256 on.
"""

from __future__ import annotations

from typing import Any

from scheduler_reader.resolve.case import Case, table, whole_number
from scheduler_reader.resolve.cuda_graphs import compilation_config, mode_at_capture
from scheduler_reader.value import Known

SIZES = "cudagraph_capture_sizes"
LARGEST = "max_cudagraph_capture_size"
SMALL_SIZES = (1, 2, 4)
STEP, COARSE_STEP, COARSE_FROM = 8, 16, 256


def resolve_capture_sizes(case: Case) -> Known[Any]:
    """`cudagraph_capture_sizes`, in the order of that release's own configuration."""
    data = table("cuda_graphs")
    if case.get("engine") == "V0":
        return case.by_default(_v0_sizes(case), "up to the first size that holds max_num_seqs")
    if case.argument("enforce_eager"):
        return case.decided([], "enforce_eager")
    if case.within(data["empty_without_graphs"]) and mode_at_capture(case).value == "NONE":
        return case.decided([], "no CUDA graphs are captured")
    budget = case.get("max_num_batched_tokens")
    given = _given_sizes(case)
    if given is not None:
        sizes = {whole_number(size, SIZES) for size in given.value}
        fitting = sorted(size for size in sizes if size <= budget)
        return Known(_ordered(case, fitting), given.origin)
    regular, reason = _default_sizes(case, budget)
    return case.by_default(_ordered(case, regular), reason)


def resolve_largest_capture(case: Case) -> Known[Any]:
    """`max_cudagraph_capture_size`: the largest of the sizes, 0 without any."""
    sizes = case.get(SIZES)
    return case.decided(max(sizes, default=0), f"largest of {SIZES}")


def _given_sizes(case: Case) -> Known[Any] | None:
    written = case.written(SIZES)
    if written is not None and written.value:
        return written
    config = compilation_config(case).get(SIZES)
    if config:
        return case.decided(list(config), f"{SIZES} of the compilation config")
    early = case.written("cuda_graph_sizes")
    if early is not None and early.value and _early_ceiling(case) is None:
        return early
    return None


def _early_ceiling(case: Case) -> int | None:
    """`--cuda-graph-sizes` with one number: the ceiling, until it became another name of the sizes."""
    early = case.argument("cuda_graph_sizes")
    if not case.follows("one_graph_size_is_the_ceiling") or not isinstance(early, list):
        return None
    return int(early[0]) if len(early) == 1 else None


def _default_sizes(case: Case, budget: int) -> tuple[list[int], str]:
    ceiling, reason = _ceiling(case)
    largest = min(ceiling, budget)
    sizes = _ladder(case, largest, budget)
    data = table("cuda_graphs")
    if case.within(data["token_budget_captured"]) and budget <= largest:
        sizes.append(budget)
    if not _is_ceiling_given(case):
        sizes += [size for size in _decode_sizes(case, ceiling) if size <= budget]
    return sorted(set(sizes)), f"up to {reason}"


def _ceiling(case: Case) -> tuple[int, str]:
    """The largest size before the token budget cuts it, and the words for it."""
    single = _early_ceiling(case)
    given = _given_ceiling(case)
    own = _architecture_ceiling(case)
    if own is not None and (own["over_given"] or given is None) and own["value"] > (single or 0):
        return own["value"], f"{own['value']} for {case.architecture}"
    if given is not None:
        return given, "the given size"
    if single is not None:
        return single, "the given size"
    rule = case.pick(table("cuda_graphs")["largest_size"])
    if rule is None:
        return 0, "nothing"
    ceiling = _hardware_ceiling(case, rule["value"], rule.get("blackwell"))
    if not rule["requests"]:
        return ceiling, str(ceiling)
    tokens = 1 + (case.get("num_speculative_tokens") if rule["drafts"] else 0)
    requests = 2 * case.get("max_num_seqs") * tokens
    if requests < ceiling:
        return requests, "twice max_num_seqs" + (" with drafts" if tokens > 1 else "")
    return ceiling, str(ceiling)


def _is_ceiling_given(case: Case) -> bool:
    return _given_ceiling(case) is not None or _architecture_ceiling(case) is not None


def _given_ceiling(case: Case) -> int | None:
    written = case.written(LARGEST)
    value = written.value if written is not None else compilation_config(case).get(LARGEST)
    return None if value is None else whole_number(value, LARGEST)


def _architecture_ceiling(case: Case) -> Any:
    return case.pick(table("cuda_graphs")["architectures"].get(case.architecture, ()))


def _hardware_ceiling(case: Case, usual: int, blackwell: int | None) -> int:
    return blackwell if blackwell is not None and case.gpu.capability[0] == 10 else usual


def _ladder(case: Case, largest: int, budget: int) -> list[int]:
    """The regular sizes up to `largest`; before the coarse steps, 1, 2 and 4 had no ceiling."""
    data = table("cuda_graphs")
    coarse = case.pick(data["coarse_from"])
    start = coarse["value"] if coarse else None
    if start is None and _architecture_ceiling(case) is None:
        small = [size for size in SMALL_SIZES if size <= budget]
        return small + list(range(STEP, largest + 1, STEP))
    small = [size for size in SMALL_SIZES if size <= largest]
    every = data["interactivity"]
    if case.within(every) and case.argument("performance_mode") == "interactivity":
        small = list(range(1, min(largest, every["every_size_up_to"]) + 1))
    return small + _steps(largest, start or COARSE_FROM)


def _steps(largest: int, coarse_from: int) -> list[int]:
    fine = range(STEP, min(largest + 1, coarse_from), STEP)
    return [*fine, *range(coarse_from, largest + 1, COARSE_STEP)]


def _decode_sizes(case: Case, ceiling: int) -> list[int]:
    """Sizes of whole decode batches: each request has one token and its drafts."""
    data = table("cuda_graphs")
    tokens = 1 + case.get("num_speculative_tokens")
    seqs = case.get("max_num_seqs")
    if tokens == 1:
        captured = case.within(data["batch_width_captured"]) and seqs <= ceiling
        return [seqs] if captured else []
    rule = case.pick(data["largest_size"])
    if rule is None or not case.within(data["decode_sizes_captured"]):
        return []
    widest = min(seqs, _hardware_ceiling(case, rule["value"], rule.get("blackwell")))
    small = [count for count in SMALL_SIZES if count <= widest]
    requests = {*small, *_steps(widest, COARSE_FROM), widest}
    return [count * tokens for count in requests if count * tokens <= ceiling]


def _v0_sizes(case: Case) -> list[int]:
    if case.get("enforce_eager"):
        return []
    data = table("cuda_graphs")["v0"]
    sizes = [*SMALL_SIZES, *range(data["step"], data["largest"] + 1, data["step"])]
    holding = [size for size in sizes if size >= case.get("max_num_seqs")]
    largest = holding[0] if holding else sizes[-1]
    return [size for size in reversed(sizes) if size <= largest]


def _ordered(case: Case, sizes: list[int]) -> list[int]:
    return sizes if case.within(table("cuda_graphs")["ascending"]) else sizes[::-1]
