"""Time outside the big kernels, by release: `compat_matrix/host.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record

if TYPE_CHECKING:
    from scheduler_reader.knowledge.calibration import Calibration


class HostOverhead(Record):
    """Seconds a layer, a step and a sequence cost beside the kernels that are modelled.

    `launch_layer_s` is the host's launch time of a layer when there is no CUDA graph to replay.
    """

    layer_s: float
    step_s: float
    sequence_s: float
    launch_layer_s: float

    def calibrated(self, by: Calibration) -> HostOverhead:
        """With the time of a step and of a sequence that were fitted to measurements."""
        return self._replace(step_s=by.step_us * 1e-6, sequence_s=by.sequence_us * 1e-6)


def host_overhead(release: Release, is_async: bool, launch_layer_s: float) -> HostOverhead:
    """The overheads measured nearest to `release`, with or without asynchronous scheduling."""
    entry = _overheads(release, is_async)
    return HostOverhead(
        layer_s=entry["layer_us"] * 1e-6,
        step_s=entry["step_us"] * 1e-6,
        sequence_s=entry["sequence_us"] * 1e-6,
        launch_layer_s=launch_layer_s,
    )


@cache
def _overheads(release: Release, is_async: bool) -> Mapping[str, Any]:
    for entry in _document()["overheads"]:
        wanted = entry.get("async_scheduling")
        fits = wanted is None or wanted == is_async
        if fits and release.meets(entry["versions"]):
            overheads: Mapping[str, Any] = entry
            return overheads
    raise DataError(f"compat_matrix/host.yaml: overheads has no entry for vLLM {release.name}")


def launch_constants() -> Mapping[str, Any]:
    """The time of a launch, and how many there are in a layer: see the table's own remarks."""
    constants: Mapping[str, Any] = _document()["launch"]
    return constants


def frontend_seconds() -> float:
    """HTTP time of a request before its first token, seconds; its tokenizer's comes to it."""
    return float(_document()["frontend"]["request_ms"]) * 1e-3


def tokenizer_seconds() -> float:
    """The tokenizer's time of a prompt token, seconds: in the API server, while the engine runs steps
    of others (vLLM V1, entrypoints/openai/serving_engine.py, _tokenize_prompt_input_async, 0.10.2).
    """
    return float(_document()["frontend"]["prompt_token_us"]) * 1e-6


def host_memory_fraction() -> float:
    """The share of a GPU's PCIe rate at which kernels read weights from host memory."""
    return float(_document()["host_memory"]["fraction"])


def _document() -> dict[str, Any]:
    return dict(documents("compat_matrix", "host.yaml")["host.yaml"])
