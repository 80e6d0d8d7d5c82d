"""The release and the hardware: what is stated, else what is assumed, and said so."""

from __future__ import annotations

from math import prod

from scheduler_reader.data import documents
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.gpus import GIB, Gpu, find_gpu
from scheduler_reader.knowledge.versions import Release, find_release, latest
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.resolve.engine import Hardware
from scheduler_reader.resolve.options import ResolveOptions
from scheduler_reader.value import Known, Origin, Unknown

ASSUMED_GPU = "h100-sxm"
PARALLEL_SIZES = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "prefill_context_parallel_size",
)


def choose_release(
    parsed: ParsedEngine, options: ResolveOptions, assumptions: list[str]
) -> tuple[Release, Origin]:
    """The vLLM release: the option's, the image's, else the newest known.

    Raises `UsageError` when the option is no version; an image tag that is none is passed over.
    """
    if options.vllm_version is not None:
        release = find_release(options.vllm_version)
        _note(assumptions, release.assumption)
        return release, options.origin("vllm_version")
    stated = parsed.image_version
    if isinstance(stated, Known):
        try:
            release = find_release(stated.value)
        except UsageError as error:
            reason = f"of the image cannot be used ({error.message})"
        else:
            _note(assumptions, release.assumption)
            return release, stated.origin
    else:
        reason = "is not stated" if stated is None else f"is unknown ({stated.reason})"
    release = latest()
    assumptions.append(
        f"vLLM {release.name}, the newest release known: the version {reason} (--vllm-version)"
    )
    return release, Origin("assumed", "newest release known")


def choose_hardware(
    parsed: ParsedEngine, reading: FlagReading, options: ResolveOptions, assumptions: list[str]
) -> Hardware:
    """The GPUs: the option's card, the deployment's, else H100 SXM; as many as the ranks need.

    The option `--gpu-count` states another number, and so does a deployment of one node.
    """
    gpu, origin = _card(parsed, options, assumptions)
    used = options.gpu_memory_used_gib * GIB
    if not used < gpu.memory_bytes:
        raise UsageError(
            f"gpu-memory-used-gib {options.gpu_memory_used_gib:g}: a {gpu.title} has "
            f"{gpu.memory_gib:.1f} GiB"
        )
    if options.gpu_count is not None and options.gpu_count < 1:
        raise UsageError(f"--gpu-count {options.gpu_count}: give 1 or more")
    stated = _requested(parsed) if options.gpu_count is None else options.gpu_count
    if stated is not None:
        return Hardware(gpu, stated, origin, count_is_stated=True, memory_used_bytes=used)
    count, unknown = _ranks(reading)
    if unknown is not None:
        assumptions.append(f"{count} GPU: the parallel size is unknown, {unknown.reason}")
    elif count > 1:
        assumptions.append(f"{count} GPUs, one for each rank: no count is stated (--gpu-count)")
    return Hardware(gpu, count, origin, memory_used_bytes=used)


def _card(
    parsed: ParsedEngine, options: ResolveOptions, assumptions: list[str]
) -> tuple[Gpu, Origin]:
    if options.gpu is not None:
        return find_gpu(options.gpu), options.origin("gpu")
    product = parsed.deployment.gpu_product if parsed.deployment else None
    reason = "no GPU is stated"
    if isinstance(product, Known):
        try:
            return find_gpu(product.value), product.origin
        except UsageError:
            reason = f"{product.value} ({product.origin.place}) is no GPU known here"
    gpu = find_gpu(ASSUMED_GPU)
    assumptions.append(f"{gpu.title}: {reason} (--gpu)")
    return gpu, Origin("assumed", reason)


def _requested(parsed: ParsedEngine) -> int | None:
    """The GPUs that the file asks for, where a replica of this form is on one node."""
    wanted = parsed.deployment.gpu_request if parsed.deployment else None
    one_node = documents("compat_matrix", "deployment.yaml")["deployment.yaml"]["one_node"]
    if not isinstance(wanted, Known) or wanted.value < 1 or parsed.form not in one_node:
        return None
    return wanted.value


def _ranks(reading: FlagReading) -> tuple[int, Unknown | None]:
    """Product of the parallel sizes as far as they are known."""
    sizes = []
    unknown = None
    for name in PARALLEL_SIZES:
        value = reading.settings.get(name)
        if isinstance(value, Unknown):
            unknown = unknown or value
        elif value is not None and isinstance(value.value, int):
            sizes.append(max(1, value.value))
    return prod(sizes), unknown


def _note(assumptions: list[str], assumption: str | None) -> None:
    if assumption is not None:
        assumptions.append(assumption)
