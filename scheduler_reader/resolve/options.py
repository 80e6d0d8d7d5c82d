"""What the user states about the target, beside the configuration itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ResolveOptions:
    """The options of sched-reader that decide what a configuration means.

    What is None is taken from the configuration where it says so, else assumed: the newest known
    vLLM, H100 SXM times the parallel size, and the server's defaults unless `offline`.
    """

    vllm_version: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    offline: bool = False  # the defaults of the LLM class
    model_config: Path | None = None  # a config.json, or the folder of a model
