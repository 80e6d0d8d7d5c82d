"""Every KV plan that vLLM's own planner was recorded to make, nine releases, to the last block."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.kv_layers import KvLayer, KvLayoutError
from scheduler_reader.capacity.kv_pool import KvPool, worker_layouts
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import LayerKind
from scheduler_reader.knowledge.versions import Release

RECORDED = ("0.8.5", "0.10.2", "0.14.1", "0.18.0", "0.20.2", "0.24.0", "0.28.0", "0.31.0", "0.33.0")
KINDS: dict[str, LayerKind] = {
    "full": "full",
    "mla": "full",
    "window": "sliding",
    "local": "chunked",
    "mamba": "mamba",
}
ELEMENT_BYTES = {"bfloat16": 2, "uint8": 1, "float32": 4}
LONGEST = 262144  # of the recorded model: what an automatic length ends at


def page_bytes(part: dict[str, Any], block_size: int) -> float:
    if part["kind"] == "mamba":
        sizes = zip(part["shapes"], part["dtypes"], strict=True)
        state = 0
        for shape, dtype in sizes:
            elements = 1
            for side in shape:
                elements *= side
            state += elements * ELEMENT_BYTES[dtype]
        return part["pad"] or state
    vectors = 1 if part["kind"] == "mla" else 2
    return block_size * vectors * part["heads"] * part["dim"] * ELEMENT_BYTES[part["dtype"]]


def layer(part: dict[str, Any], engine: dict[str, Any], release: Release) -> KvLayer:
    size = part.get("block") or engine.get("block_size", 16)
    budget = engine.get("max_num_batched_tokens", 8192)
    by_block = value_at("state_blocks", release) == "by_block"
    return KvLayer(
        KINDS[part["kind"]],
        size,
        page_bytes(part, size),
        window=part.get("window") or part.get("chunk") or 0,
        in_flight_tokens=budget * value_at("window_batches", release)
        if part["kind"] in ("window", "local")
        else 0,
        state_blocks=1 if part["kind"] == "mamba" and not by_block else 0,
        is_latent=part["kind"] == "mla",
    )


def recorded_pool(row: dict[str, Any], release: Release) -> KvPool:
    engine = row["input"]["engine"]
    workers = [
        {
            part.get("first", 0) + index: layer(part, engine, release)
            for part in worker
            for index in range(part["n"])
        }
        for worker in row["input"]["workers"]
    ]
    is_off = engine.get("disable_hybrid_kv_cache_manager", False)
    layouts = worker_layouts(
        workers,
        release,
        keeps_windows=not is_off and value_at("hybrid_groups", release),
    )
    return KvPool(
        release,
        layouts,
        tuple(row["input"]["memory"]),
        engine.get("num_gpu_blocks_override"),
        engine.get("block_size", 16),
    )


def compare_error(row: dict[str, Any], release: Release) -> None:
    message = row["error"]["message"]
    if row["error"]["type"] == "NotImplementedError":
        with pytest.raises(KvLayoutError):
            recorded_pool(row, release)
        return
    pool, length = recorded_pool(row, release), row["input"]["max_model_len"]
    if row["error"]["type"] == "ZeroDivisionError":  # this release takes -1 for a length
        with pytest.raises(ZeroDivisionError):
            pool.concurrency(length)
        return
    if message.startswith("No available memory"):
        assert not pool.has_memory()
        return
    assert pool.has_memory() and not pool.fits(length)
    need, room = pool.tightest_check(length)
    said = re.findall(r"\(([\d.]+) GiB", message)
    assert [round(need / GIB, 2), round(room / GIB, 2)] == [float(number) for number in said]
    if suggested := re.search(r"estimated maximum model length is (\d+)", message):
        assert pool.longest(length) == int(suggested[1])


def compare_answer(row: dict[str, Any], release: Release) -> None:
    answer, given = row["answer"], row["input"]["max_model_len"]
    pool = recorded_pool(row, release)
    length = answer["max_model_len"]
    if given < 0 and length > 0:
        assert pool.longest(LONGEST) == length
    assert pool.fits(length)
    assert [pool.num_blocks] * len(given_memory(row)) == answer["num_blocks"]
    ours = Counter(
        (len(group.layers), group.block_size, group.blocks(length))
        for group in pool.layouts[0].groups
    )
    pages = [group["page_size_bytes"] for group in answer["groups"]]
    assert ours == Counter(
        (group["layers"], group["block_size"], group["max_memory_usage_bytes"] // page)
        for group, page in zip(answer["groups"], pages, strict=True)
    )
    if "max_concurrency" in answer:
        assert pool.concurrency(length) == answer["max_concurrency"]
    if "capacity_tokens" in answer:
        assert pool.printed_tokens(length) == answer["capacity_tokens"]
    compare_printed(pool, answer, length)


def given_memory(row: dict[str, Any]) -> list[float]:
    return list(row["input"]["memory"])


def compare_printed(pool: KvPool, answer: dict[str, Any], length: int) -> None:
    if not value_at("groups_are_global", pool.release):  # each worker prints before they agree
        pool = pool._replace(layouts=pool.layouts[:1], memory=pool.memory[:1])
    if "printed_tokens" in answer:
        assert pool.printed_tokens(length) == answer["printed_tokens"]
    if "printed_concurrency" in answer:
        assert round(pool.concurrency(length), 2) == answer["printed_concurrency"]


@pytest.mark.parametrize("version", RECORDED)
def test_the_plan_is_vllms_own(shared: Path, version: str) -> None:
    release = Release(version)
    rows = json.loads((shared / "oracle" / "kv" / f"{version}.json").read_text())["rows"]
    for row in rows:
        if "answer" in row:
            compare_answer(row, release)
        elif row["error"]["type"] != "AttributeError":  # no such layers in this release
            compare_error(row, release)
    assert len(rows) == 37
