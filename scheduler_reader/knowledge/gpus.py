"""GPUs: what CUDA reports, what the data sheet promises, and the names people write."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

GIB = 1024**3


class Gpu(BaseModel):
    """One GPU of `compat_matrix/gpus/`.  Peaks are dense (no sparsity) and per second."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str  # catalogue name: h100-sxm
    title: str  # NVIDIA H100 SXM 80 GB
    device_name: str  # as torch.cuda.get_device_name() says: vLLM looks for "a100" in it
    vendor: Literal["nvidia", "amd"] = "nvidia"
    memory_bytes: int = Field(gt=0)  # total memory as CUDA reports it, not the marketing figure
    memory_bandwidth_bytes_per_s: float = Field(gt=0)
    flops_per_s: dict[
        str, float
    ]  # by dtype: bfloat16, float16, fp8, int8, fp4; absent: not supported
    compute_capability: str  # "9.0"
    nvlink_bytes_per_s: float | None = None  # each way; None: PCIe only
    pcie_bytes_per_s: float | None = None
    unified_memory: bool = False
    aliases: tuple[str, ...] = ()  # cloud labels, nvidia-smi names, what people write
    source: str

    @property
    def memory_gib(self) -> float:
        return self.memory_bytes / GIB

    @property
    def capability(self) -> tuple[int, int]:
        major, minor = self.compute_capability.split(".")
        return int(major), int(minor)
