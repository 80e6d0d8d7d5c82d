"""The tables of compat_matrix/defaults/: sourced, with real ranges, and complete for every release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.value import Unknown

DOCUMENTS = documents("compat_matrix", "defaults/")
CENTRAL = (
    "max_num_batched_tokens",
    "max_num_seqs",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "block_size",
    "max_model_len",
    "gpu_memory_utilization",
    "cudagraph_capture_sizes",
)


def ranges(node: Any, path: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Every `from` - `to` below a node, with where it stands."""
    if isinstance(node, dict):
        if "from" in node or "to" in node:
            yield path, node.get("from"), node.get("to")
        for key, child in node.items():
            yield from ranges(child, f"{path}.{key}")
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from ranges(child, f"{path}[{index}]")


@pytest.mark.parametrize("path", DOCUMENTS)
def test_ranges_name_releases_in_order(path):
    found = list(ranges(DOCUMENTS[path], path))
    for where, first, last in found:
        for end in (first, last):
            assert end is None or end in releases(), f"{where}: {end} is no release"
        if first and last:
            assert Version(first) <= Version(last), where


@pytest.mark.parametrize("path", DOCUMENTS)
def test_facts_have_a_source(path):
    content = DOCUMENTS[path]
    if path.endswith("controls.yaml"):
        return  # our own words
    if path.endswith("behaviours.yaml"):
        assert all(entry["source"] and entry["says"] for entry in content.values())
    else:
        assert content["source"]


@pytest.mark.parametrize("gpu", ["h100", "a100", "l4", "b200", "mi300x"])
def test_every_release_has_an_answer(resolved, gpu):
    for release in releases():
        engine = resolved(version=release, gpu=gpu)
        for name in CENTRAL:
            value = engine.value(name)
            assert not isinstance(value, Unknown), f"{release} {name}: {value.reason}"
        assert engine.get("max_num_batched_tokens") >= engine.get("max_num_seqs")
        assert engine.model_runner.value in ("V1", "V2")
