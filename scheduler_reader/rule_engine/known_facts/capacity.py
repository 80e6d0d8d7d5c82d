"""Facts about memory: what fills one GPU rank, and how many KV blocks are left."""

from __future__ import annotations

from scheduler_reader.capacity.plan import CapacityPlan, MemoryTerms
from scheduler_reader.capacity.remedies import FP8_CAPABILITY
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.rule_engine.settings import setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

WIDE_KV_CACHE = ("auto", "bfloat16", "float16", "float32", "half")  # two bytes an element, or more


def starts(sources: Sources) -> bool | Unknown:
    """Weights and the KV cache of at least one request fit into the memory budget."""
    plan = sources.capacity
    return Unknown(plan.reason) if plan.starts is None else plan.starts


def capacity_reason(sources: Sources) -> str:
    """Why the engine does or does not start, in one sentence."""
    return sources.capacity.reason


def start_remedies(sources: Sources) -> str:
    """The smallest changes with which the engine is sure to start, as a sentence."""
    remedies = [
        " with ".join(f"{name} {value}" for name, value in remedy.changes.items())
        for remedy in sources.capacity.remedies
    ]
    if not remedies:
        return (
            "It takes a smaller checkpoint or larger GPUs: no change of these settings is enough."
        )
    return f"Sure to start with {', or '.join(remedies)}."


def fp8_kv_cache_would_help(sources: Sources) -> bool:
    """Whether an fp8 KV cache may hold more: not where the one there is is as narrow, nor on a GPU
    that does not calculate in fp8."""
    name = setting_value(sources.engine, "kv_cache_dtype")
    is_wide = isinstance(name, Unknown) or name is None or name in WIDE_KV_CACHE
    return is_wide and sources.engine.hardware.gpu.capability >= FP8_CAPABILITY


def budget_gib(sources: Sources) -> float | Unknown:
    """What vLLM may use of one GPU: memory x gpu_memory_utilization."""
    return _gib(sources, "budget")


def weights_gib(sources: Sources) -> float | Unknown:
    """Weights on one GPU."""
    return _gib(sources, "weights")


def activation_gib(sources: Sources) -> float | Unknown:
    """Activation peak of the profile run on one GPU."""
    return _gib(sources, "activation")


def sampler_gib(sources: Sources) -> float | Unknown:
    """Of the activation peak: while one token of each of max_num_seqs sequences is sampled."""
    return _gib(sources, "sampler")


def unclaimed_gib(sources: Sources) -> float | Unknown:
    """What neither vLLM's budget nor the CUDA context takes of one GPU; negative: too little."""
    return _gib(sources, "unclaimed")


def cuda_graph_gib(sources: Sources) -> float | Unknown:
    """CUDA graphs on one GPU."""
    return _gib(sources, "cuda_graphs")


def non_torch_gib(sources: Sources) -> float | Unknown:
    """CUDA context, NCCL and other allocations outside torch on one GPU."""
    return _gib(sources, "non_torch")


def kv_cache_gib(sources: Sources) -> float | Unknown:
    """What is left for KV blocks on one GPU; negative where nothing is left."""
    return _gib(sources, "kv_cache")


def kv_kib_per_token(sources: Sources) -> float | Unknown:
    """KV cache of one token on one GPU, in KiB."""
    value = _planned(sources, "kv_bytes_per_token")
    return value if isinstance(value, Unknown) else value / 1024


def kv_block_size(sources: Sources) -> int | Unknown:
    """Tokens of one KV block after start-up, where a block may have been raised to fit a state."""
    value = _planned(sources, "block_size")
    return value if isinstance(value, Unknown) else int(value)


def num_blocks(sources: Sources) -> int | Unknown:
    """KV blocks of the pool."""
    value = _planned(sources, "num_blocks")
    return value if isinstance(value, Unknown) else int(value)


def kv_cache_tokens(sources: Sources) -> int | Unknown:
    """KV-cache size in tokens, as that release prints it."""
    value = _planned(sources, "kv_cache_tokens")
    return value if isinstance(value, Unknown) else int(value)


def max_concurrency(sources: Sources) -> float | Unknown:
    """Requests of full length that fit at once, as that release prints it."""
    return _planned(sources, "max_concurrency")


def largest_max_model_len(sources: Sources) -> int | Unknown:
    """The longest max_model_len of which one request still fits, in tokens."""
    value = _planned(sources, "largest_max_model_len")
    return value if isinstance(value, Unknown) else int(value)


def safe_max_model_len(sources: Sources) -> int | Unknown:
    """A round max_model_len of which one request is sure to fit, in tokens."""
    value = _planned(sources, "safe_max_model_len")
    if isinstance(value, Unknown):
        return value
    return int(value) if value else Unknown("no max_model_len is sure to fit")


def workload_concurrency(sources: Sources) -> float | Unknown:
    """Requests of the declared shape whose KV blocks fit at once."""
    return _planned(sources, "workload_concurrency")


def _planned(sources: Sources, name: str) -> float | Unknown:
    plan: CapacityPlan = sources.capacity
    value: float | None = getattr(plan, name)
    return Unknown(plan.reason or f"{name} is not known") if value is None else value


def _gib(sources: Sources, term: str) -> float | Unknown:
    memory: MemoryTerms | None = sources.capacity.memory
    if memory is None:
        return Unknown(sources.capacity.reason or "the memory plan is not known")
    value: float = getattr(memory, term)
    return value / GIB
