"""Facts about what else lives on the GPUs of an engine."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.parse.deployment import ALL
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine.known_facts.parallel import gpus_needed
from scheduler_reader.rule_engine.settings import setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Known, Unknown


def failed_start_check(sources: Sources) -> str:
    """Which check beside that of the KV cache ends the start: free_memory,
    state_of_every_sequence, or empty."""
    return sources.capacity.failed_check


def other_processes_gib(sources: Sources) -> float:
    """GiB of each GPU that other processes hold when the engine starts, as stated; 0 else."""
    return sources.engine.hardware.memory_used_bytes / GIB


def shared_utilization(sources: Sources) -> float | Unknown:
    """gpu_memory_utilization of all engines of the file on one GPU of this engine, added up;
    of this one alone where no other is beside it."""
    own = _utilization(sources)
    parsed = sources.engine.parsed
    if isinstance(own, Unknown) or not parsed.beside:
        return own
    mine = _host_gpus(parsed, gpus_needed(sources))
    if isinstance(mine, Unknown):
        return mine
    sums = dict.fromkeys(mine, own)
    for other in _beside(sources):
        share = _utilization(other)
        theirs = _host_gpus(other.engine.parsed, gpus_needed(other))
        if isinstance(theirs, Unknown):
            return theirs
        if isinstance(share, Unknown):
            return share
        for gpu in theirs & mine:
            sums[gpu] += share
    return round(max(sums.values()), 6)


def engines_beside(sources: Sources) -> str:
    """The engines of the file that use a GPU of this engine too, by name."""
    mine = _host_gpus(sources.engine.parsed, gpus_needed(sources))
    names = []
    for other in _beside(sources):
        theirs = _host_gpus(other.engine.parsed, gpus_needed(other))
        if isinstance(mine, frozenset) and isinstance(theirs, frozenset) and mine & theirs:
            names.append(other.engine.parsed.name or "another engine")
    return ", ".join(names)


def _utilization(sources: Sources) -> float | Unknown:
    """What the engine asks for; unknown where arguments of it are not read."""
    unresolved = sources.engine.parsed.unresolved
    for kind in ("*extra_args", "*config"):
        if kind in unresolved and not sources.engine.is_set("gpu_memory_utilization"):
            return Unknown(unresolved[kind])
    value = setting_value(sources.engine, "gpu_memory_utilization")
    return value if isinstance(value, Unknown) else float(value)


def _beside(sources: Sources) -> Iterator[Sources]:
    """The other engines, read for the same release; one with KV-cache bytes of its own takes
    another share than its utilization, and is left out."""
    options = ResolveOptions(vllm_version=sources.engine.release.name)
    for parsed in sources.engine.parsed.beside:
        other = resolve(parsed, options)
        if "kv_cache_memory_bytes" not in other.flags.settings:
            yield Sources(
                other,
                sources.plan,
                sources.estimate,
                sources.find_bottleneck,
                sources.workload,
                sources.slo,
            )


def _host_gpus(parsed: ParsedEngine, ranks: int | Unknown) -> frozenset[str] | Unknown:
    """The GPUs of the host that an engine uses: the first ones of those it sees."""
    if isinstance(ranks, Unknown):
        return ranks
    seen = _visible(parsed)
    if isinstance(seen, Unknown):
        return seen
    chosen = parsed.variable("CUDA_VISIBLE_DEVICES")
    if isinstance(chosen, Unknown):
        return chosen
    if chosen is not None and chosen.value.strip():
        seen_here = []
        for word in chosen.value.split(","):
            index = word.strip()
            if not index.isdecimal() or (seen != ALL and int(index) >= len(seen)):
                return Unknown(f"which GPU CUDA_VISIBLE_DEVICES {chosen.value} names is not told")
            seen_here.append(index if seen == ALL else seen[int(index)])
        seen = tuple(seen_here)
    if seen == ALL:
        return frozenset(map(str, range(ranks)))
    return frozenset(seen[:ranks])


def _visible(parsed: ParsedEngine) -> tuple[str, ...] | Unknown:
    """The host's GPUs that the container gets, in its order."""
    stated = parsed.deployment.gpu_ids if parsed.deployment else None
    if stated is not None:
        return stated if isinstance(stated, Unknown) else stated.value
    variable = parsed.variable("NVIDIA_VISIBLE_DEVICES")
    if isinstance(variable, Known):
        return tuple(word.strip() for word in variable.value.split(","))
    return variable or Unknown("the file does not say which GPUs of the host each engine gets")
