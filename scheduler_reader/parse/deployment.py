"""What a deployment file says about the place an engine runs in: GPUs, memory, probes, replicas.

These are facts for rules, each with its origin; a field is None where the file does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from scheduler_reader.record import Record
from scheduler_reader.value import Value

ALL = ("all",)  # GPU ids: every one of the host
ProbeKind = Literal["startup", "liveness", "readiness"]


class Probe(Record):
    """A probe that keeps failing ends the container (startup, liveness) or its traffic."""

    seconds_until_failed: Value[float]  # from the start of the container, if it never answers
    port: Value[int] | None = None  # asked for; None: not told, or perhaps another container's


class Deployment(Record):
    """The surroundings of one replica of an engine."""

    image: Value[str] | None = None  # the reference, where it names vLLM
    replicas: Value[int] | None = None
    needs_profile: bool = False  # started only where its profile is asked for
    gpu_request: Value[int] | None = None  # GPUs that one replica asks for
    gpu_ids: Value[tuple[str, ...]] | None = None  # of the host, in the container's order
    gpu_product: Value[str] | None = None  # node label or product text: `nvidia-h100-80gb`
    shared_memory_bytes: Value[int] | None = None  # size of /dev/shm
    has_unlimited_shared_memory: bool = False  # a memory volume without a limit of its own
    uses_host_ipc: Value[bool] | None = None  # /dev/shm is the host's
    cpu_limit: Value[float] | None = None  # cores
    memory_limit_bytes: Value[int] | None = None
    probes: Mapping[ProbeKind, Probe] = {}
