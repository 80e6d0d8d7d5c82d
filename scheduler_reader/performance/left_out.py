"""What a prediction leaves out or takes only roughly, in words for the report."""

from __future__ import annotations

from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.performance.efficiency import Efficiency
from scheduler_reader.performance.precision import WeightFormat
from scheduler_reader.performance.settings import Parallelism, is_on
from scheduler_reader.performance.speculation import Drafting, drafting
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown

OFF = (None, False, 0, "none", "None")


def left_out(
    engine: ResolvedEngine,
    model: ModelFacts,
    parallel: Parallelism,
    table: Efficiency,
    stored: WeightFormat,
) -> tuple[str, ...]:
    """The notes that apply to an engine: on its kernels and hardware, then on its features."""
    gpu = engine.hardware.gpu
    link = gpu.nvlink_bytes_per_s or gpu.pcie_bytes_per_s
    is_offloading = bool(setting(engine, "cpu_offload_gb"))
    notes = {
        f"{gpu.title}: the kernel efficiencies of {table.gpu}, scaled by peaks and bandwidth": table.gpu
        != gpu.name,
        f"{stored.rough}": stored.rough is not None,
        "expert layers: rough, their popularity assumed": model.is_moe,
        "expert-parallel all-to-all": parallel.is_expert_parallel and parallel.data > 1,
        "latent attention: rough": model.uses_mla,
        "linear-attention and mamba layers: attention part left out": model.is_hybrid,
        "pipeline stages: transfers between them, and passes of long prompts that overlap where an open "
        "loop is near its capacity": parallel.pipeline > 1,
        f"all-reduce: the link of {gpu.title} is not known": parallel.tensor > 1 and link is None,
        "all-reduce over more than 8 ranks: timed as 8": parallel.tensor > 8,
        f"weights in host memory: the PCIe rate of {gpu.title} is not known": is_offloading
        and gpu.pcie_bytes_per_s is None,
        "multimodal encoder": model.vision is not None,
        "enforce_eager: launched like a compiled layer": is_on(engine, "enforce_eager"),
    }
    notes_of_features = (*_drafts(engine, model), *_features(engine))
    return tuple(note for note, applies in notes.items() if applies) + notes_of_features


def setting(engine: ResolvedEngine, name: str) -> Any:
    """A resolved or, where the release's default is not modelled, a written value; else None."""
    resolved = engine.settings.get(name)
    value = resolved.value if resolved else engine.flags.settings.get(name)
    return value.value if isinstance(value, Known) else None


def _drafts(engine: ResolvedEngine, model: ModelFacts) -> tuple[str, ...]:
    found = drafting(engine, model)
    if isinstance(found, Drafting) and model.is_moe:
        return (
            "speculative decoding: how far the drafts of a sequence share its experts is that of "
            "another model",
        )
    if not isinstance(found, Unknown):
        return ()
    return (f"speculative decoding: {found.reason}; the figures are without it",)


def _features(engine: ResolvedEngine) -> tuple[str, ...]:
    table = documents("compat_matrix", "speed_features.yaml")["speed_features.yaml"]["features"]
    return tuple(
        entry["says"]
        for entry in table.values()
        if "says" in entry and setting(engine, entry["setting"]) not in (*OFF, entry.get("unless"))
    )
