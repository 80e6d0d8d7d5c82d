"""GPUs: what CUDA reports, what the data sheet promises, and the names people write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from scheduler_reader.data import documents, with_tuples
from scheduler_reader.errors import DataError, UsageError

GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU of `compat_matrix/gpus/`.  Peaks are dense (no sparsity) and per second."""

    name: str  # catalogue name: h100-sxm
    title: str  # NVIDIA H100 SXM 80 GB
    device_name: str  # as torch.cuda.get_device_name() says: vLLM looks for "a100" in it
    vendor: Literal["nvidia", "amd"] = "nvidia"
    memory_bytes: int  # total memory as CUDA reports it, not the marketing figure
    memory_bandwidth_bytes_per_s: float
    # by dtype: bfloat16, float16, fp8, int8, fp4; absent: not supported
    flops_per_s: Mapping[str, float]
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


def find_gpu(text: str) -> Gpu:
    """The card that `text` names, as a person, a cloud or nvidia-smi writes it.

    `H100`, `NVIDIA H100 80GB HBM3`, `nvidia-a100-80gb`, `A100-80GB (79.25 GiB visible)` and
    `8x RTX 4090 24GB` are all understood.  Raises `UsageError` with the nearest names for others.
    """
    path = _written().get(text.strip().lower())
    if path:
        return _gpu(path)
    index = _index()
    key = _key(text)
    path = index.get(_spelling(text)) or index.get(key)
    if path:
        return _gpu(path)
    size = _SIZE.search(key)
    if size:
        bare = " ".join(_SIZE.sub(" ", key).split())
        if bare in index and _is_about(_gpu(index[bare]), int(size.group(1))):
            return _gpu(index[bare])
    raise UsageError(f"{text!r} is no GPU known here; {_nearest(key)} (sched-reader list gpus)")


def all_gpus() -> tuple[Gpu, ...]:
    """The whole catalogue, by name."""
    return tuple(_gpu(path) for path in sorted(documents("compat_matrix", "gpus/")))


# What names of the same card differ in: vendor, product line, memory kind, form words.
_NOISE = re.compile(
    r"\b(nvidia|amd|geforce|instinct|tesla|quadro(?! rtx \d)|corporation|gpus?|graphics|gpu|card|oam"
    r"|generation|edition|hbm\d?e?|gddr\d\w?)\b"
)
_SIZE = re.compile(r"\b(\d{1,3})gb\b")
_NAME_FIELDS = ("name", "title", "device_name")


def _spelling(text: str) -> str:
    """`NVIDIA A100-SXM4-80GB (79.25 GiB visible)` → `nvidia a100 sxm 80gb`."""
    key = re.sub(r"\(.*?\)", " ", text.lower())
    key = re.sub(r"^\s*\d+\s*[x×*]\s*|\s+[x×*]\s*\d+\s*$", " ", key)
    key = re.sub(r"\b(\d{1,3})\s*-?(gib|gb|g)\b", r" \1gb ", key)
    key = re.sub(r"[^a-z0-9]+", " ", key)
    key = re.sub(r"\bsxm\d\b", "sxm", key)
    key = re.sub(r"\b(rtx|gtx)(?=[a-z]*\d)", r"\1 ", key)
    return " ".join(re.sub(r"(?<=\d{4})(ti|d)\b", r" \1", key).split())


def _key(text: str) -> str:
    """The spelling without what all cards share: `a100 sxm 80gb`."""
    return " ".join(_NOISE.sub(" ", _spelling(text)).split())


@cache
def _written() -> dict[str, str]:
    """Lower-case name → document path; two cards that claim a name are a mistake in our data."""
    names: dict[str, str] = {}
    for path, document in documents("compat_matrix", "gpus/").items():
        for name in (*(document[key] for key in _NAME_FIELDS), *document["aliases"]):
            if names.setdefault(str(name).lower(), path) != path:
                raise DataError(f"{path}: aliases: {name!r} also names {names[str(name).lower()]}")
    return names


@cache
def _index() -> dict[str, str]:
    """Name → document path, as spelled and without noise; what is spelled out wins."""
    bare: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for name, path in _written().items():
        spelled[_spelling(name)] = path
        bare.setdefault(_key(name), path)
    return bare | spelled


@cache
def _gpu(path: str) -> Gpu:
    document = documents("compat_matrix", "gpus/")[path]
    try:
        return Gpu(**with_tuples(document))
    except TypeError as error:
        raise DataError(f"{path}: {error}") from error


def _is_about(gpu: Gpu, stated_gb: int) -> bool:
    """Whether the size in a name is this card's, in GB or GiB, before or after what CUDA takes."""
    return 0.95 * gpu.memory_gib <= stated_gb <= 1.12 * gpu.memory_gib


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    paths = [_index()[name] for name in get_close_matches(key, _index(), n=8, cutoff=0.5)]
    names = list(dict.fromkeys(_gpu(path).name for path in paths))[:4]
    return f"nearest: {', '.join(names)}" if names else "nothing is spelled like it"
