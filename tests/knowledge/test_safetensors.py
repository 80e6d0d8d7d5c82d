"""Headers of safetensors files written by hand: sizes are read, data is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.safetensors import StoredWeights, stored_weights


def write(file: Path, tensors: dict[str, tuple[str, list[int]]]) -> None:
    """A file with a header and no data."""
    entries: dict[str, Any] = {
        name: {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}
        for name, (dtype, shape) in tensors.items()
    }
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header)


def test_tensors_of_all_files_by_part(tmp_path: Path) -> None:
    write(
        tmp_path / "model-00001-of-00002.safetensors",
        {
            "model.embed_tokens.weight": ("BF16", [100, 8]),
            "model.layers.0.mlp.up_proj.weight": ("F8_E4M3", [16, 8]),
            "model.layers.0.mlp.up_proj.weight_scale": ("F32", [16, 1]),
            "model.visual.blocks.0.attn.qkv.weight": ("BF16", [24, 8]),
        },
    )
    write(
        tmp_path / "model-00002-of-00002.safetensors",
        {
            "model.layers.1.self_attn.o_proj.qweight": ("I32", [8, 1]),
            "model.layers.2.eh_proj.weight": ("BF16", [8, 16]),  # behind the two decoder layers
            "mtp.fc.weight": ("BF16", [8, 8]),
        },
    )
    decoder = 2 * 800 + 128 + 64 + 32
    assert stored_weights(tmp_path, 2) == StoredWeights(decoder, 2 * 192, 2 * (128 + 64))


def test_a_float32_matrix_is_served_in_16_bits(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"model.layers.0.mlp.up_proj.weight": ("F32", [16, 8])})
    found = stored_weights(tmp_path, 1)
    assert found is not None
    assert found.decoder_bytes == 2 * 128


def test_a_folder_without_weights(tmp_path: Path) -> None:
    assert stored_weights(tmp_path, 1) is None


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 8 + b"{}", b"\x02\0\0\0\0\0\0\0[]", b"\x09\0\0\0\0\0\0\0{"]
)
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="not a safetensors file"):
        stored_weights(tmp_path, 1)


def test_an_unknown_dtype_is_named(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"w": ("F6", [4])})
    with pytest.raises(InputError, match="tensor w"):
        stored_weights(tmp_path, 1)
