"""The GPU catalogue, and the names people, clouds and nvidia-smi write for a card."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.gpus import Gpu, all_gpus, find_gpu


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("h100", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("nvidia-h100-80gb", "h100-sxm"),
        ("H100 SXM5 80GB", "h100-sxm"),
        ("8x H100", "h100-sxm"),
        ("H100 PCIe", "h100-pcie"),
        ("H100-NVL-94GB", "h100-nvl"),
        ("H100 94GB", "h100-nvl"),
        ("H200-SXM-141GB", "h200"),
        ("a100", "a100-sxm-80gb"),
        ("A100-80GB (79.25 GiB visible)", "a100-sxm-80gb"),
        ("A100 40GB", "a100-sxm-40gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("nvidia-tesla-a100", "a100-sxm-40gb"),  # the label GKE gives its 40 GB cards
        ("A10G", "a10g"),
        ("A10", "a10"),
        ("L4 (23034 MiB)", "l4"),
        ("L40S", "l40s"),
        ("Tesla T4", "t4"),
        ("V100 32GB", "v100-sxm-32gb"),
        ("A6000", "rtx-a6000"),
        ("rtx4090", "rtx-4090"),
        ("RTX 4090 24GB", "rtx-4090"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"),
        ("RTX 6000 Ada", "rtx-6000-ada"),
        ("RTX PRO 6000", "rtx-pro-6000"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
        ("GB10 (DGX Spark)", "gb10"),
        ("AMD Instinct MI300X", "mi300x"),
        ("MI300X 192GB", "mi300x"),
    ],
)
def test_names_of_a_card(written: str, name: str) -> None:
    assert find_gpu(written).name == name


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.name)
def test_every_stated_name_finds_its_card(gpu: Gpu) -> None:
    for name in (gpu.name, gpu.title, gpu.device_name, *gpu.aliases):
        assert find_gpu(name) == gpu
        assert find_gpu(name.upper().replace(" ", "-")) == gpu


@pytest.mark.parametrize(
    "written", ["H100 60GB", "RTX 6090", "Quadro RTX 5000", "h10", "NVIDIA H100 MIG 1g.10gb"]
)
def test_unknown_card_names_the_nearest(written: str) -> None:
    with pytest.raises(UsageError, match=r"is no GPU known here; nearest: \S+"):
        find_gpu(written)


@pytest.mark.parametrize("written", ["", "the big one in the corner"])
def test_text_that_names_no_card(written: str) -> None:
    with pytest.raises(UsageError, match="sched-reader list gpus"):
        find_gpu(written)


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.name)
def test_peaks_are_plausible(gpu: Gpu) -> None:
    """Narrower formats are never slower; hardware formats appear with their generation."""
    flops = gpu.flops_per_s
    assert 3 < gpu.memory_gib < 300
    assert (
        10 < flops["float16"] / gpu.memory_bandwidth_bytes_per_s < 700
    )  # roofline ridge, FLOP/byte
    assert flops.get("fp8", flops["float16"]) >= flops["float16"]
    assert flops.get("fp4", flops.get("fp8", 0)) >= flops.get("fp8", 0)
    if gpu.vendor == "nvidia":
        assert ("bfloat16" in flops) == (gpu.capability >= (8, 0))
        assert ("fp8" in flops) == (gpu.capability >= (8, 9))
        assert ("fp4" in flops) == (gpu.capability >= (10, 0))


def test_memory_is_what_cuda_reports() -> None:
    assert find_gpu("h100").memory_gib == pytest.approx(79.19)
    assert find_gpu("rtx pro 6000").memory_gib == pytest.approx(94.97)
    assert find_gpu("a100").device_name == "NVIDIA A100-SXM4-80GB"


@settings(deadline=None)
@given(st.text("aAhHrRtTxX0123456789 -()gGbB", max_size=14))
def test_any_text_is_a_card_or_wrong_usage(text: str) -> None:
    try:
        find_gpu(text)
    except UsageError as error:
        assert repr(text) in str(error)
