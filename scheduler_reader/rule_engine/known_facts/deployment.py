"""Facts about the release, the GPUs and what the arguments' own parser said."""

from __future__ import annotations

from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown


def vllm_version(sources: Sources) -> str:
    """The vLLM release the configuration is read for."""
    return sources.engine.release.name


def stated_vllm_version(sources: Sources) -> str | Unknown:
    """The vLLM release, where somebody states one that is known."""
    release = sources.engine.release
    if sources.engine.release_origin.kind == "assumed":
        return Unknown("the vLLM release is not stated (--vllm-version)")
    stated = (release.assumption or release.name).partition(" is read as ")[0]
    return release.name if release.name in stated else Unknown(str(release.assumption))


def engine_version(sources: Sources) -> str:
    """Which engine runs: V0 or V1."""
    return sources.engine.engine


def engine_reason(sources: Sources) -> str:
    """Why that engine, V0 or V1, runs."""
    engine = sources.engine
    return engine.engine_origin.detail.removeprefix(f"vLLM {engine.release.name}: ")


def is_offline(sources: Sources) -> bool:
    """The offline LLM class runs instead of the server."""
    return sources.engine.context == "offline"


def flag_issues(sources: Sources) -> list[FlagIssue]:
    """Arguments that the release's parser does not simply take."""
    return list(sources.engine.flags.issues)


def gpu(sources: Sources) -> str:
    """The GPU, as a person would write it."""
    return sources.engine.hardware.gpu.title


def device_name(sources: Sources) -> str:
    """The GPU, as CUDA names it."""
    return sources.engine.hardware.gpu.device_name


def is_nvidia(sources: Sources) -> bool:
    """The GPU is NVIDIA's."""
    return sources.engine.hardware.gpu.vendor == "nvidia"


def gpu_memory_gib(sources: Sources) -> float:
    """Memory of one GPU in GiB, as CUDA reports it."""
    return sources.engine.hardware.gpu.memory_gib


def gpu_capability(sources: Sources) -> float:
    """Compute capability as a number: 8.9 for Ada, 9.0 for Hopper."""
    return float(sources.engine.hardware.gpu.compute_capability)


def gpu_count(sources: Sources) -> int | Unknown:
    """GPUs the engine can see, where somebody states them."""
    hardware = sources.engine.hardware
    if not hardware.count_is_stated:
        return Unknown("the number of GPUs is not stated (--gpu-count)")
    return hardware.count


def has_nvlink(sources: Sources) -> bool:
    """GPUs of this kind are joined by NVLink; otherwise by PCIe."""
    return sources.engine.hardware.gpu.nvlink_bytes_per_s is not None
