"""What the user states about the target, beside the configuration itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler_reader.record import Record
from scheduler_reader.value import Origin

if TYPE_CHECKING:
    from scheduler_reader.knowledge.calibration import Calibration


class ResolveOptions(Record):
    """The options of sched-reader that decide what a configuration means.

    What is None is taken from the configuration where it says so, else assumed: the newest known
    vLLM, H100 SXM times the parallel size, and the server's defaults unless `offline`.
    """

    vllm_version: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    offline: bool = False  # the defaults of the LLM class
    model_config: Path | None = None  # a config.json, or the folder of a model
    gpu_memory_used_gib: float = 0.0  # by other processes, on each GPU, when the engine starts
    hub_models: Mapping[tuple[str, str | None], Path] = {}  # by id, revision
    calibration: Calibration | None = None  # constants fitted to the user's own measurements
    origins: Mapping[str, Origin] = {}  # of those in a settings file

    def origin(self, name: str) -> Origin:
        """Where an option is stated: its place in the settings file, else the command line."""
        return self.origins.get(name) or Origin("option", f"--{name.replace('_', '-')}")
