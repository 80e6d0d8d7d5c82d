"""The catalogue is not validated when it is read: every document has the types of its record."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from scheduler_reader.knowledge.gpus import Gpu, all_gpus
from scheduler_reader.knowledge.models import ModelFacts, all_models
from scheduler_reader.validation import validated


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.name)
def test_gpu(gpu: Gpu) -> None:
    assert validated(Gpu, asdict(gpu)) == gpu
    assert min(gpu.memory_bytes, gpu.memory_bandwidth_bytes_per_s, *gpu.flops_per_s.values()) > 0


@pytest.mark.parametrize("model", all_models(), ids=lambda model: model.id)
def test_model(model: ModelFacts) -> None:
    assert validated(ModelFacts, asdict(model)) == model


def test_a_field_that_no_record_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^quantization\.bits: Unexpected keyword"):
        validated(
            ModelFacts,
            asdict(all_models()[0])
            | {"quantization": {"method": "fp8", "weight_bits": 8, "bits": 8}},
        )
