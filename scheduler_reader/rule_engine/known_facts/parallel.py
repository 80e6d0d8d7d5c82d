"""Facts about how the model is spread over GPUs."""

from __future__ import annotations

from math import prod

from scheduler_reader.capacity.stages import PARTITION, partition
from scheduler_reader.rule_engine.settings import setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown


def world_size(sources: Sources) -> int | Unknown:
    """GPUs of one replica: tensor x pipeline (x prefill context) parallel size."""
    return _product(
        sources,
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "prefill_context_parallel_size",
    )


def gpus_needed(sources: Sources) -> int | Unknown:
    """GPUs this process needs on its node: world size x its local data-parallel ranks / nodes."""
    size = world_size(sources)
    replicas = _local_replicas(sources)
    nodes = _size(sources, "nnodes")
    for value in (size, replicas, nodes):
        if isinstance(value, Unknown):
            return value
    assert isinstance(size, int) and isinstance(replicas, int) and isinstance(nodes, int)
    return -(-size * replicas // nodes)


def gpus_taken(sources: Sources) -> int:
    """GPUs the engine takes: those it is given where that is stated, else one for each rank."""
    return sources.engine.hardware.count


def device_ids_mistake(sources: Sources) -> str | Unknown | None:
    """What is wrong with --device-ids: duplicates, or numbers beside UUIDs; None: nothing."""
    given = sources.engine.flags.settings.get("device_ids")
    if given is None or isinstance(given, Unknown):
        return given
    written = given.value if isinstance(given.value, list) else str(given.value).split(",")
    ids = [str(device).strip() for device in written]
    if len(set(ids)) < len(ids):
        return "duplicates"
    return None if len({device.isdecimal() for device in ids}) == 1 else "numbers beside UUIDs"


def balancing_modes(sources: Sources) -> int | Unknown:
    """How many ways of balancing data-parallel ranks are asked for: multi-port, external, hybrid."""
    names = ("data_parallel_multi_port_external_lb", "data_parallel_external_lb")
    asked = [setting_value(sources.engine, name) for name in (*names, "data_parallel_hybrid_lb")]
    unknown = next((value for value in asked if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    is_multi_port, is_external, is_hybrid = map(bool, asked)
    settings = sources.engine.flags.settings
    is_external = is_external or "data_parallel_rank" in settings
    if not is_multi_port:
        is_hybrid = is_hybrid or "data_parallel_start_rank" in settings
    return is_multi_port + is_external + is_hybrid


def layer_partition_mistake(sources: Sources) -> str | Unknown | None:
    """What is wrong with VLLM_PP_LAYER_PARTITION; None: nothing, or it is not set."""
    written, stages = (
        sources.engine.parsed.variable(PARTITION),
        _size(sources, "pipeline_parallel_size"),
    )
    model = sources.engine.model
    if written is None:
        return None
    for value in (written, stages, model):
        if isinstance(value, Unknown):
            return value
    assert not isinstance(written, Unknown) and not isinstance(model, Unknown)
    sizes, layers = partition(written.value), model.value.layers
    if not sizes:
        return "no list of numbers"
    if len(sizes) != stages:
        return f"{len(sizes)} numbers for {stages} pipeline stages"
    return None if sum(sizes) == layers else f"{sum(sizes)} of {layers} layers"


def _local_replicas(sources: Sources) -> int | Unknown:
    engine = sources.engine
    if engine.is_set("data_parallel_size_local"):
        return _size(sources, "data_parallel_size_local")
    if engine.is_set("data_parallel_rank") or engine.is_set("data_parallel_start_rank"):
        return 1
    return _size(sources, "data_parallel_size")


def _product(sources: Sources, *names: str) -> int | Unknown:
    sizes = [_size(sources, name) for name in names]
    return next(
        (size for size in sizes if isinstance(size, Unknown)),
        prod(size for size in sizes if not isinstance(size, Unknown)),
    )


def _size(sources: Sources, name: str) -> int | Unknown:
    """A parallel size; 1 where that release does not have the argument or leaves it open."""
    value = setting_value(sources.engine, name)
    return value if isinstance(value, Unknown) else int(value or 1)
