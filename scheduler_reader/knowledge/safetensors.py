"""Sizes of a checkpoint's tensors, from the headers of its safetensors files; never their data.

Format: eight bytes with the header's length, then JSON with dtype, shape and place of each tensor
(https://huggingface.co/docs/safetensors, metadata parsing).
"""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.record import Record
from scheduler_reader.value import Origin

LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16}
BITS |= {"I16": 16, "U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8}
BITS |= {"BOOL": 8, "F4": 4}
SERVED_BITS = 16  # of a float32 matrix: vLLM serves it in 16 bits
ENCODER = re.compile(r"(^|\.)(vision\w*|visual|audio\w*|multi_modal_projector|mm_projector)\.")
DRAFT = re.compile(r"(^|\.)mtp\w*\.")
LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


class StoredWeights(Record):
    """Bytes of a checkpoint's tensors as a 16-bit engine keeps them, all ranks together."""

    decoder_bytes: int
    encoder_bytes: int
    draft_bytes: int  # layers for multi-token prediction


def stored_weights(folder: Path, layers: int) -> StoredWeights | None:
    """The sizes of the safetensors files in a model folder; None: it has none.

    `layers`: of the decoder; what follows them drafts.  Raises `InputError` for a damaged file.
    """
    parts = {"decoder": 0, "encoder": 0, "draft": 0}
    files = sorted(folder.glob("*.safetensors"))
    for file in files:
        for name, entry in _header(file).items():
            parts[_part(name, layers)] += _bytes(file, name, entry)
    if not files:
        return None
    return StoredWeights(parts["decoder"], parts["encoder"], parts["draft"])


def _part(name: str, layers: int) -> str:
    if ENCODER.search(name):
        return "encoder"
    number = LAYER.search(name)
    is_beyond = number is not None and int(number[1]) >= layers
    return "draft" if DRAFT.search(name) or is_beyond else "decoder"


def _bytes(file: Path, name: str, entry: Any) -> int:
    try:
        bits, shape = BITS[entry["dtype"]], [int(side) for side in entry["shape"]]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"tensor {name} has an unusual form: {entry}", _at(file)) from None
    if entry["dtype"] == "F32" and len(shape) > 1 and name.endswith(".weight"):
        bits = SERVED_BITS
    return prod(shape) * bits // 8


def _header(file: Path) -> dict[str, Any]:
    """The tensors that a file's header names."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > LONGEST_HEADER:
                raise ValueError
            header = json.loads(stream.read(length))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", _at(file)) from None
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise InputError("is not a safetensors file", _at(file))
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _at(file: Path) -> Origin:
    return Origin("file", path=str(file))
